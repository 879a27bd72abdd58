// A pool that lives as long as its object.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/pool/pool.hpp>

#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace outlast::bench {

/// A path in `directory` that no other call of any process has returned.
[[nodiscard]] inline std::filesystem::path unused_path(const std::filesystem::path& directory) {
  static std::atomic<unsigned> calls{0};
  return directory / ("outlast-bench-" + std::to_string(getpid()) + "-" +
                      std::to_string(calls.fetch_add(1)) + ".pool");
}

/// Creates a pool in a directory. Its file has no name once the pool is open, so that nothing is
/// left behind, however the process ends. What it holds is lost with the object.
template <domain::persistence_domain Domain>
class temporary_pool {
 public:
  temporary_pool(const std::filesystem::path& directory, std::size_t size_bytes)
      : temporary_pool(size_bytes, unused_path(directory)) {}

  [[nodiscard]] basic_pool<Domain>& get() noexcept { return pool_; }

 private:
  temporary_pool(std::size_t size_bytes, const std::filesystem::path& path)
      : pool_(basic_pool<Domain>::create(path.string(), {.size_bytes = size_bytes})) {
    std::filesystem::remove(path);
  }

  basic_pool<Domain> pool_;
};

/// Room for `keys` keys of 8 bytes in any structure and policy, retired nodes included.
[[nodiscard]] constexpr std::size_t pool_bytes_for(std::uint64_t keys) noexcept {
  return (std::size_t{32} << 20) + keys * 256;
}

}  // namespace outlast::bench
