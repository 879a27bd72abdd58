// The shadow copy of a pool: ordinary memory at a constant distance from the pool. [Fri21, 4.3.1]
//
// The pool has the data that survives; threads read the shadow copy. No stored data depends on the
// address of the shadow copy: a program with another distance, or without shadow copies, can open
// the pool.
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
#define OUTLAST_SHADOW_NEAR_THE_STACK 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define OUTLAST_SHADOW_NEAR_THE_STACK 1
#endif
#endif

/// Distance from a byte of a pool to its shadow copy, modulo 2^64. It is constant, so that a load
/// through it is one instruction. The addresses below those of programs, heaps and pools are free;
/// ThreadSanitizer requires another place.
#if defined(OUTLAST_SHADOW_NEAR_THE_STACK)
inline constexpr std::uintptr_t shadow_distance = 0x2970'0000'0000;
#else
inline constexpr std::uintptr_t shadow_distance = std::uintptr_t{0} - 0x2000'0000'0000;
#endif

/// A domain that has its own shadow copies: the simulated one, in which a process that lost its
/// power still exists while the next one opens the same pool.
template <class D>
concept keeps_shadows = requires(std::uintptr_t base, std::size_t bytes) {
  { D::shadow_distance() } -> std::same_as<std::uintptr_t>;
  D::open_shadow(base, bytes);
  D::close_shadow(bytes);
};

/// Returns the distance from a byte of a pool under `D` to its shadow copy, modulo 2^64.
template <domain::persistence_domain D>
[[nodiscard]] inline std::uintptr_t distance_to_shadow() noexcept {
  if constexpr (keeps_shadows<D>) {
    return D::shadow_distance();
  } else {
    return shadow_distance;
  }
}

/// Returns the shadow copy of an object. Requires: the pool has shadow copies.
template <domain::persistence_domain D, class T>
[[nodiscard]] inline T* shadow_of(T* in_pool) noexcept {
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(in_pool) + distance_to_shadow<D>());
}
/// Returns the object of a shadow copy.
template <domain::persistence_domain D, class T>
[[nodiscard]] inline T* original_of(T* in_shadow) noexcept {
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(in_shadow) -
                              distance_to_shadow<D>());
}

namespace pool_detail {

/// The address range of one shadow copy. Zero-filled when it is made.
class shadow_memory {
 public:
  /// For the pool at [base, base + bytes). `path`: the pool's file; "" for a pool in memory.
  /// `on_media`: the shadow copy is a nameless file in the directory of the pool's. Throws
  /// error{address_taken, no_space}.
  shadow_memory(std::uintptr_t base, std::size_t bytes, const std::string& path, bool on_media);
  /// Permits stores to the first `bytes`, at most `space`: a pool whose address space has become
  /// `space` grows. For a shadow copy on media, these bytes exist on the file system afterwards.
  /// Throws error{address_taken, no_space}. One thread at a time.
  void make_real(std::size_t bytes, std::size_t space);
  ~shadow_memory();
  shadow_memory(const shadow_memory&) = delete;
  shadow_memory& operator=(const shadow_memory&) = delete;

 private:
  void extend(std::size_t bytes, std::size_t space);

  std::string path_;
  std::uintptr_t first_;
  std::size_t bytes_;
  unique_fd file_;  // none: in memory
};

/// Returns whether the address is in the shadow copy of a pool. It takes no pointer, because the
/// bytes may be uninitialised.
[[nodiscard]] bool is_in_shadow(std::uintptr_t address) noexcept;

struct byte_run {
  const std::byte* first;
  std::size_t bytes;
};

/// Copies each run to the addresses at `distance` from its own, modulo 2^64; with several threads
/// if that is worthwhile. No two of the ranges overlap.
void copy_in_parallel(const std::vector<byte_run>& sources, std::uintptr_t distance);

}  // namespace pool_detail

/// The shadow copy of a pool: a service of the pool, made on first use and destroyed with the pool.
template <domain::persistence_domain D>
class replica_pair {
 public:
  explicit replica_pair(basic_pool<D>& of)
      : shadow_(of.base(), of.address_space_bytes(), of.path(), of.shadow_on_media()) {
    of.on_grow(
        [this, &of](std::size_t bytes) { shadow_.make_real(bytes, of.address_space_bytes()); });
  }

 private:
  pool_detail::shadow_memory shadow_;
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
