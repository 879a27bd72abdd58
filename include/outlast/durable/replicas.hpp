// Which bytes of a node are read, and which survive: the same bytes, or two replicas. [Fri21]
//
// Threads read the working replica, the pool's copy in memory. A node's address, and every link to
// it, is an address in the working replica, so following a link needs no translation. The durable
// replica is the pool. Its links are addresses in the pool: nothing on media depends on the address
// of the working replica. Cells translate when they store and when they recover.
//
// A structure that supports every policy uses `to_working` when it makes or finds a node, and
// `to_durable` when it passes a node to the pool or the allocator. Under other policies both return
// their argument. For bytes that are neither cells nor fields, the structure calls
// `attach_replicas` when its root is attached, `blank` to clear them, and uses `plain_word` for
// words that it reads and writes plainly.
#pragma once

#include <outlast/alloc/arena.hpp>
#include <outlast/base/error.hpp>
#include <outlast/base/marked_ptr.hpp>
#include <outlast/base/raw_atomic.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/hw/flush.hpp>
#include <outlast/pool/replica_pair.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace outlast::durable {

/// True if mirrored memory under `D` has a second replica. It has none if `D` flushes nothing at
/// compile time, because then all visible stores survive.
template <domain::persistence_domain D>
inline constexpr bool has_replicas =
    !requires { requires std::bool_constant<!D::flushes()>::value; };

/// True if a cell of T contains a link into its pool, or null, which is translated between the
/// replicas. Its three lowest bits are marks. Specialise it for link types of your own.
template <class T>
inline constexpr bool holds_link =
    std::is_pointer_v<T> && std::is_object_v<std::remove_pointer_t<T>>;
template <class T, unsigned Bits>
inline constexpr bool holds_link<base::marked_ptr<T, Bits>> = Bits <= 3;

/// True if roots of `Policy` have two replicas under some domain, possibly not under its own.
/// Another process may then have kept volatile data in the second replica.
template <class Policy>
inline constexpr bool is_mirrored = requires { requires Policy::mirrored; };

namespace detail {

template <class Policy>
inline constexpr bool keeps_replicas = false;
template <class Policy>
  requires is_mirrored<Policy>
inline constexpr bool keeps_replicas<Policy> = has_replicas<typename Policy::domain_type>;

/// Throws error{refused} if a mirrored cell or field is made outside of pools, in programs that are
/// built with assertions. Without the check it would write to unmapped memory.
template <domain::persistence_domain D>
inline void require_replica([[maybe_unused]] std::uintptr_t at) {
#if !defined(NDEBUG)
  if constexpr (has_replicas<D> && !keeps_shadows<D>) {
    if (pool_detail::is_in_shadow(at)) return;
    throw error(errc::refused, "",
                "a mirrored cell or field is made at an address that is in no pool's twin: it "
                "lives in a pool whose replicas are attached, and is made where it is seen");
  }
#endif
}

}  // namespace detail

/// Returns the address in the working replica for an address in the pool.
template <class Policy, class T>
[[nodiscard]] inline T* to_working(T* in_pool) noexcept {
  if constexpr (detail::keeps_replicas<Policy>) {
    return shadow_of<typename Policy::domain_type>(in_pool);
  } else {
    return in_pool;
  }
}
/// Returns the address in the pool for an address in the working replica.
template <class Policy, class T>
[[nodiscard]] inline T* to_durable(T* at) noexcept {
  if constexpr (detail::keeps_replicas<Policy>) {
    return original_of<typename Policy::domain_type>(at);
  } else {
    return at;
  }
}

/// Prefetches for a recovery of the object at `at`. Any address is permitted.
template <class Policy>
inline void expect_recovery(const void* at) noexcept {
  hw::prefetch(at);
  if constexpr (detail::keeps_replicas<Policy>) {
    hw::prefetch(to_durable<Policy>(static_cast<const std::byte*>(at)));
  }
}

/// Copies the surviving bytes to the working replica when a root is attached or created. Must be
/// called before any byte of the root is read. Returns true if each cell must be recovered, by
/// recover(), before it is read, whatever the state of the root. Requires: no other thread uses the
/// root. Throws error{address_taken, no_space}.
template <class Policy, domain::persistence_domain D>
bool attach_replicas(basic_pool<D>& pool, alloc::arena<D>& arena) {
  if constexpr (detail::keeps_replicas<Policy>) {
    (void)pool.template service<replica_pair<D>>();
    std::vector<pool_detail::byte_run> survived;
    arena.for_each_run([&](const void* first, std::size_t bytes) {
      survived.push_back({static_cast<const std::byte*>(first), bytes});
    });
    pool_detail::copy_in_parallel(survived, distance_to_shadow<D>());
    return true;
  }
  return false;
}

/// Fills bytes with zeros that no other thread can reach; `memory` is an address in the working
/// replica. The caller must flush them.
template <class Policy, domain::persistence_domain D = typename Policy::domain_type>
void blank(void* memory, std::size_t bytes, domain::site where = domain::site::current()) {
  D::zero(to_durable<Policy>(static_cast<std::byte*>(memory)), bytes, where);
  if constexpr (detail::keeps_replicas<Policy>) D::zero(memory, bytes, domain::site::none());
}

/// A word of a node that no policy makes durable by itself. It is immutable once published and
/// flushed with its node, or trusted only after a clean close, which flushes it, or a hint that is
/// true whenever it is present. The node's constructor or blank() stores its first value.
template <class Policy, domain::persistence_domain D = typename Policy::domain_type>
class plain_word {
  using word = std::uint64_t;
  using site = domain::site;

 public:
  [[nodiscard]] word load(std::memory_order order) const { return D::load(here_.value, order); }
  /// Stores. Requires: no other thread stores.
  void store(word value, std::memory_order order, site where = site::current()) {
    D::store(stored(), value, order, where);
    if constexpr (detail::keeps_replicas<Policy>) {
      D::store(here_.value, value, order, site::none());
    }
  }
  /// Changes the word from 0 to `value`. Only the thread that succeeds may store from then on.
  [[nodiscard]] bool claim(word value, site where = site::current()) {
    constexpr auto both = std::memory_order_acq_rel;
    word unclaimed = 0;
    if (!D::compare_exchange(stored(), unclaimed, value, both, where)) return false;
    if constexpr (detail::keeps_replicas<Policy>) {
      D::store(here_.value, value, std::memory_order_release, site::none());
    }
    return true;
  }

 private:
  [[nodiscard]] std::atomic<word>& stored() noexcept { return to_durable<Policy>(&here_)->value; }

  base::raw_atomic<word> here_;
};

}  // namespace outlast::durable
