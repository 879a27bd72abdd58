// Which bytes of a node are read, and which survive: the same, or two replicas. [Fri21]
//
// A structure that runs on every policy says three things of its bytes that are neither cells nor
// fields: when its root is attached (`attach`), what it blanks (`blank`), and which words it reads
// and writes plainly (`plain_word`).
#pragma once

#include <outlast/alloc/arena.hpp>
#include <outlast/base/raw_atomic.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/pool/replica_pair.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace outlast::durable {

/// Whether mirrored memory under `D` has a second replica: not where it is known when the program
/// is built that nothing is ever flushed. What is visible survives there.
template <domain::persistence_domain D>
inline constexpr bool has_replicas =
    !requires { requires std::bool_constant<!D::flushes()>::value; };

namespace detail {

template <class Policy>
concept mirrored = requires { requires Policy::mirrored; };

template <class Policy>
inline constexpr bool keeps_replicas = false;
template <mirrored Policy>
inline constexpr bool keeps_replicas<Policy> = has_replicas<typename Policy::domain_type>;

/// Throws error{refused} where a mirrored cell or field is made outside of pools, in programs that
/// are built with assertions: elsewhere it would write where nothing is.
template <domain::persistence_domain D>
inline void require_replica([[maybe_unused]] const void* at) {
#if !defined(NDEBUG)
  if constexpr (has_replicas<D> && !keeps_twins<D>) {
    if (pool_detail::has_twin(at)) return;
    throw error(errc::refused, "",
                "a mirrored cell or field is made outside of a pool, or before its root was "
                "attached: mirrored types live in pools only");
  }
#endif
}

}  // namespace detail

/// A root is attached, or created, and nothing of it was read yet: what is read becomes what has
/// survived. Not for other threads' roots: the caller is alone with this one. Throws
/// error{address_taken, no_space}.
template <class Policy, domain::persistence_domain D>
void attach_replicas(basic_pool<D>& pool, alloc::arena<D>& arena) {
  if constexpr (detail::keeps_replicas<Policy>) {
    (void)pool.template service<replica_pair<D>>();
    arena.for_each_run([](void* first, std::size_t bytes) {
      pool_detail::copy_in_parallel(twin_of<D>(first), first, bytes);
    });
  }
}

/// Fills what nobody else can reach with zeros, in each replica; the caller flushes it.
template <class Policy, domain::persistence_domain D = typename Policy::domain_type>
void blank(void* memory, std::size_t bytes, domain::site where = domain::site::current()) {
  D::zero(memory, bytes, where);
  if constexpr (detail::keeps_replicas<Policy>) {
    D::zero(twin_of<D>(static_cast<std::byte*>(memory)), bytes, domain::site::none());
  }
}

/// A word of a node that no policy makes durable: immutable once published and flushed with its
/// node, or trusted after a clean close only, which flushes it. Its first value comes from its
/// node's constructor, or from blank().
template <class Policy, domain::persistence_domain D = typename Policy::domain_type>
class plain_word {
  using word = std::uint64_t;
  using site = domain::site;

 public:
  [[nodiscard]] word load(std::memory_order order) const { return D::load(visible(), order); }
  /// Only while nobody else stores.
  void store(word value, std::memory_order order, site where = site::current()) {
    D::store(original_.value, value, order, where);
    if constexpr (detail::keeps_replicas<Policy>) D::store(visible(), value, order, site::none());
  }
  /// From 0 to `value`. Whoever succeeds is the only one to store from then on.
  [[nodiscard]] bool claim(word value, site where = site::current()) {
    constexpr auto both = std::memory_order_acq_rel;
    word unclaimed = 0;
    if (!D::compare_exchange(original_.value, unclaimed, value, both, where)) return false;
    if constexpr (detail::keeps_replicas<Policy>) {
      D::store(visible(), value, std::memory_order_release, site::none());
    }
    return true;
  }

 private:
  [[nodiscard]] std::atomic<word>& visible() const noexcept {
    auto& original = const_cast<base::raw_atomic<word>&>(original_);
    if constexpr (detail::keeps_replicas<Policy>) {
      return twin_of<D>(&original)->value;
    } else {
      return original.value;
    }
  }

  base::raw_atomic<word> original_;
};

}  // namespace outlast::durable
