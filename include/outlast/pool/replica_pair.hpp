// The second replica of a pool: ordinary memory at a constant distance from it. [Fri21, 4.3.1]
//
// What the pool says is what survives; what its twin says is what threads read. Nothing that is
// stored depends on where the twin lies, so a pool can be opened by a program that was built with
// another distance, or without twins.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/pool/file/mapped_file.hpp>
#include <outlast/pool/pool.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace outlast {

#if defined(__SANITIZE_THREAD__)
#define OUTLAST_TWIN_NEAR_THE_STACK 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define OUTLAST_TWIN_NEAR_THE_STACK 1
#endif
#endif

/// From a byte of a pool to its twin, modulo 2^64. Constant, so that a load through it is one
/// instruction. Below every address that programs, heaps and pools begin at there is room;
/// ThreadSanitizer wants it elsewhere.
#if defined(OUTLAST_TWIN_NEAR_THE_STACK)
inline constexpr std::uintptr_t shadow_distance = 0x2970'0000'0000;
#else
inline constexpr std::uintptr_t shadow_distance = std::uintptr_t{0} - 0x2000'0000'0000;
#endif

/// A domain that keeps twins itself: the simulated one, in which a process that lost its power
/// still stands while the next one opens the same pool.
template <class D>
concept keeps_shadows = requires(std::uintptr_t base, std::size_t bytes) {
  { D::shadow_distance() } -> std::same_as<std::uintptr_t>;
  D::open_shadow(base, bytes);
  D::close_shadow(bytes);
};

/// From a byte of a pool under `D` to its twin, modulo 2^64.
template <domain::persistence_domain D>
[[nodiscard]] inline std::uintptr_t distance_to_shadow() noexcept {
  if constexpr (keeps_shadows<D>) {
    return D::shadow_distance();
  } else {
    return shadow_distance;
  }
}

/// The twin of an object of a pool that has one.
template <domain::persistence_domain D, class T>
[[nodiscard]] inline T* shadow_of(T* in_pool) noexcept {
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(in_pool) + distance_to_shadow<D>());
}
/// The reverse.
template <domain::persistence_domain D, class T>
[[nodiscard]] inline T* original_of(T* in_shadow) noexcept {
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(in_shadow) -
                              distance_to_shadow<D>());
}

namespace pool_detail {

/// The address range of one twin. Zero-filled when it is made.
/// Thread-safety: all members, of different objects too, may be called concurrently.
class shadow_memory {
 public:
  /// For the pool at [base, base + bytes). `path`: the pool's file; "": it lies in memory.
  /// `on_media`: the twin lies in a nameless file beside the pool's. Throws error{address_taken,
  /// no_space}.
  shadow_memory(std::uintptr_t base, std::size_t bytes, const std::string& path, bool on_media);
  /// The first `bytes` may be written: of a twin on media they exist on the file system then.
  /// Throws error{no_space}.
  void make_real(std::size_t bytes);
  ~shadow_memory();
  shadow_memory(const shadow_memory&) = delete;
  shadow_memory& operator=(const shadow_memory&) = delete;

 private:
  std::string path_;
  std::uintptr_t first_;
  std::size_t bytes_;
  unique_fd file_;  // none: in memory
};

/// The address is one of some pool's twin. No pointer: what is there may be uninitialised.
[[nodiscard]] bool is_in_shadow(std::uintptr_t address) noexcept;

struct byte_run {
  const std::byte* first;
  std::size_t bytes;
};

/// Copies each run to the addresses at `distance` from its own, modulo 2^64; with several threads
/// where that is worth while. No two of the ranges overlap.
void copy_in_parallel(const std::vector<byte_run>& sources, std::uintptr_t distance);

}  // namespace pool_detail

/// The pool's twin: a service of it, made where it is needed first, gone with the pool.
template <domain::persistence_domain D>
class replica_pair {
 public:
  explicit replica_pair(basic_pool<D>& of)
      : twin_(of.base(), of.address_space_bytes(), of.path(), of.shadow_on_media()) {
    twin_.make_real(pool_format::file_bytes_for(of.size_bytes(), of.capacity_bytes()));
    of.on_grow([this, capacity = of.capacity_bytes()](std::size_t size) {
      twin_.make_real(pool_format::file_bytes_for(size, capacity));
    });
  }

 private:
  pool_detail::shadow_memory twin_;
};

template <domain::persistence_domain D>
  requires keeps_shadows<D>
class replica_pair<D> {
 public:
  explicit replica_pair(basic_pool<D>& of) : pool_(of) {
    D::open_shadow(of.base(), of.address_space_bytes());
  }
  ~replica_pair() {
    D::close_shadow(std::size_t{pool_.pages().high_water()} * pool_format::page_bytes);
  }
  replica_pair(const replica_pair&) = delete;
  replica_pair& operator=(const replica_pair&) = delete;

 private:
  basic_pool<D>& pool_;
};

}  // namespace outlast
