// Which bytes of a node are read, and which survive: the same, or two replicas. [Fri21]
//
// What threads read lies in the twin, so a node's address, and every link to it, is that of its
// bytes in the twin: following a link is following a link. What survives lies in the pool, and the
// links there are addresses in the pool: nothing on media depends on where a twin is. Cells
// translate when they store and when they recover.
//
// A structure that runs on every policy says which address it means: `seen` where it makes or finds
// a node, `original` where it speaks to the pool or the allocator about one. Under other policies
// both are the same. Of bytes that are neither cells nor fields it says when its root is attached
// (`attach_replicas`), what it blanks (`blank`), and which words it reads and writes plainly
// (`plain_word`).
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

/// Whether mirrored memory under `D` has a second replica: not where it is known when the program
/// is built that nothing is ever flushed. What is visible survives there.
template <domain::persistence_domain D>
inline constexpr bool has_replicas =
    !requires { requires std::bool_constant<!D::flushes()>::value; };

/// Whether a cell of T holds a link to something in its pool, or null: then it is translated
/// between the replicas. Its three lowest bits are marks. Specialise it for link types of your own.
template <class T>
inline constexpr bool holds_link =
    std::is_pointer_v<T> && std::is_object_v<std::remove_pointer_t<T>>;
template <class T, unsigned Bits>
inline constexpr bool holds_link<base::marked_ptr<T, Bits>> = Bits <= 3;

/// Whether roots of `Policy` have two replicas under some domain, if not under its own: another
/// process may have kept in the second one what is volatile.
template <class Policy>
inline constexpr bool is_mirrored = requires { requires Policy::mirrored; };

namespace detail {

template <class Policy>
inline constexpr bool keeps_replicas = false;
template <class Policy>
  requires is_mirrored<Policy>
inline constexpr bool keeps_replicas<Policy> = has_replicas<typename Policy::domain_type>;

/// Throws error{refused} where a mirrored cell or field is made outside of pools, in programs that
/// are built with assertions: elsewhere it would write where nothing is.
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

/// Where threads access what is at `in_pool`.
template <class Policy, class T>
[[nodiscard]] inline T* to_working(T* in_pool) noexcept {
  if constexpr (detail::keeps_replicas<Policy>) {
    return shadow_of<typename Policy::domain_type>(in_pool);
  } else {
    return in_pool;
  }
}
/// Where survives what threads access at `at`.
template <class Policy, class T>
[[nodiscard]] inline T* to_durable(T* at) noexcept {
  if constexpr (detail::keeps_replicas<Policy>) {
    return original_of<typename Policy::domain_type>(at);
  } else {
    return at;
  }
}

/// What is seen at `at` will be recovered soon. Any address will do.
template <class Policy>
inline void expect_recovery(const void* at) noexcept {
  hw::prefetch(at);
  if constexpr (detail::keeps_replicas<Policy>) {
    hw::prefetch(to_durable<Policy>(static_cast<const std::byte*>(at)));
  }
}

/// A root is attached, or created, and nothing of it was read yet: the twin gets what has survived.
/// True if links have to be recovered whatever state the root is in: each cell of it, by recover(),
/// before it is read. The caller is alone with the root. Throws error{address_taken, no_space}.
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

/// Fills what nobody else can reach, and is seen at `memory`, with zeros; the caller flushes it.
template <class Policy, domain::persistence_domain D = typename Policy::domain_type>
void blank(void* memory, std::size_t bytes, domain::site where = domain::site::current()) {
  D::zero(to_durable<Policy>(static_cast<std::byte*>(memory)), bytes, where);
  if constexpr (detail::keeps_replicas<Policy>) D::zero(memory, bytes, domain::site::none());
}

/// A word of a node that no policy makes durable by itself: immutable once published and flushed
/// with its node, trusted after a clean close only, which flushes it, or a hint that is true
/// whenever it is there. Its first value comes from its node's constructor, or from blank().
template <class Policy, domain::persistence_domain D = typename Policy::domain_type>
class plain_word {
  using word = std::uint64_t;
  using site = domain::site;

 public:
  [[nodiscard]] word load(std::memory_order order) const { return D::load(here_.value, order); }
  /// Only while nobody else stores.
  void store(word value, std::memory_order order, site where = site::current()) {
    D::store(stored(), value, order, where);
    if constexpr (detail::keeps_replicas<Policy>) {
      D::store(here_.value, value, order, site::none());
    }
  }
  /// From 0 to `value`. Whoever succeeds is the only one to store from then on.
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
