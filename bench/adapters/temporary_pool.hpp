// A pool that lives as long as its object.
#pragma once

#include <bench/engine/subject.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/pool/journal/redo_log.hpp>
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

/// Creates a pool in a directory. Its files have no names once the pool is open, so that nothing is
/// left behind, however the process ends. What it holds is lost with the object.
template <domain::persistence_domain Domain>
class temporary_pool {
 public:
  temporary_pool(const std::filesystem::path& directory, const pool_options& options)
      : temporary_pool(options, unused_path(directory)) {}

  [[nodiscard]] basic_pool<Domain>& get() noexcept { return pool_; }

 private:
  temporary_pool(const pool_options& options, const std::filesystem::path& path)
      : pool_(basic_pool<Domain>::create(path.string(), options)) {
    std::filesystem::remove(path);
    std::filesystem::remove(pool_detail::log_path_of(path.string()));
  }

  basic_pool<Domain> pool_;
};

/// Room for `keys` keys of 8 bytes in any structure and policy, retired nodes included.
[[nodiscard]] constexpr std::size_t pool_bytes_for(std::uint64_t keys) noexcept {
  return (std::size_t{32} << 20) + keys * 256;
}

/// A pool for a subject.
[[nodiscard]] inline pool_options pool_options_for(const subject_options& options) {
  return {.size_bytes = pool_bytes_for(options.mix.size),
          .shadow_on_media = options.shadow_on_media};
}

}  // namespace outlast::bench
