// FliT as one gets it wrong: policies with one defect each, for the verifier to find.
#pragma once

#include <outlast/base/raw_atomic.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/verify/machine/simulated.hpp>

#include <atomic>
#include <string>
#include <string_view>

namespace outlast::test {

/// Each is a mistake that the literature or its published code makes, or nearly makes.
enum class flit_defect {
  none,                      ///< without a defect: must pass
  tag_lowered_before_fence,  ///< a reader skips its flush while the value may still be lost
  tag_raised_after_store,    ///< a reader sees the value before its tag
  load_ignores_tag,          ///< reads flush nothing
  load_asks_other_tag,       ///< reads and stores disagree on where the counter of an address is
  flush_before_store,        ///< the flush writes back what was there before
  no_flush_after_store,      ///< a p-store is a v-store
  no_fence_before_store,     ///< what the store depends on may be lost behind it
  no_completion_fence,       ///< the answer outruns the flush
  node_not_flushed,          ///< a node's content may be lost behind its link
};

template <class T, flit_defect Defect>
class broken_cell {
  using D = domain::simulated;
  using word = durable::detail::word_of<T>;
  using role = durable::role;
  static constexpr auto acq_rel = std::memory_order_acq_rel;

 public:
  using value_type = T;

  broken_cell() : broken_cell(T{}) {}
  explicit broken_cell(T value) {
    init(value);
    recover();
  }
  void init(T value) {
    D::store(word_.value, durable::detail::to_word(value), std::memory_order_relaxed);
  }
  void recover() {
    D::store(tag_.value, 0, std::memory_order_relaxed);
    D::store(other_tag_.value, 0, std::memory_order_relaxed);
  }

  [[nodiscard]] T survived() const { return load(); }
  void overwrite(T value) { store(value); }
  void refresh() const {}

  void arrived(role) const {}
  [[nodiscard]] T load(role = role::decide) const {
    const word value = D::load(word_.value, std::memory_order_acquire);
    flush_if_tagged();
    return durable::detail::from_word<T>(value);
  }
  void store(T value, role = role::link) {
    modify(
        [&] { return D::exchange(word_.value, durable::detail::to_word(value), acq_rel), true; });
  }
  [[nodiscard]] bool compare_exchange(T& expected, T desired, role = role::link) {
    word seen = durable::detail::to_word(expected);
    const bool done = modify([&] {
      return D::compare_exchange(word_.value, seen, durable::detail::to_word(desired), acq_rel);
    });
    if (!done) {
      flush_if_tagged();
      expected = durable::detail::from_word<T>(seen);
    }
    return done;
  }

 private:
  template <class Change>
  bool modify(Change change) {
    if constexpr (Defect != flit_defect::no_fence_before_store) domain::fence<D>();
    if constexpr (Defect != flit_defect::tag_raised_after_store) raise();
    if constexpr (Defect == flit_defect::flush_before_store)
      domain::flush<D>(&word_, sizeof(word_));
    const bool done = change();
    if constexpr (Defect == flit_defect::tag_raised_after_store) raise();
    if constexpr (Defect == flit_defect::tag_lowered_before_fence) lower();
    if (done) {
      if constexpr (Defect != flit_defect::flush_before_store &&
                    Defect != flit_defect::no_flush_after_store) {
        domain::flush<D>(&word_, sizeof(word_));
      }
      domain::fence<D>();
    }
    if constexpr (Defect != flit_defect::tag_lowered_before_fence) lower();
    return done;
  }
  void raise() { D::fetch_add(tag_.value, 1, std::memory_order_relaxed); }
  void lower() { D::fetch_sub(tag_.value, 1, std::memory_order_release); }

  void flush_if_tagged() const {
    constexpr bool errs = Defect == flit_defect::load_asks_other_tag;
    if constexpr (Defect != flit_defect::load_ignores_tag) {
      if (D::load((errs ? other_tag_ : tag_).value, std::memory_order_acquire) != 0)
        domain::flush<D>(&word_, sizeof(word_));
    }
  }

  alignas(8) base::raw_atomic<word> word_;
  mutable base::raw_atomic<std::uint64_t> tag_;
  base::raw_atomic<std::uint64_t> other_tag_;
};

/// An operation that forgets, at its end or for its nodes, what the real one does.
template <class Reclaimer, flit_defect Defect>
class broken_operation
    : public durable::operation<domain::simulated, domain::simulated, Reclaimer> {
  using base_type = durable::operation<domain::simulated, domain::simulated, Reclaimer>;

 public:
  using base_type::base_type;
  ~broken_operation() noexcept(false) {
    if constexpr (Defect == flit_defect::no_completion_fence) {
      base::this_thread().flush_pending = false;
    }
  }
  template <class Node>
  void persist_private(const Node& node) {
    if constexpr (Defect != flit_defect::node_not_flushed) base_type::persist_private(node);
  }
};

template <flit_defect Defect>
struct broken_flit {
  using domain_type = domain::simulated;
  template <class T>
  using cell = broken_cell<T, Defect>;
  template <class T>
  using grouped_cell = cell<T>;
  using group = durable::cell_group<durable::tag::always, domain::simulated>;
  template <class T>
  using field = durable::field<T, domain::simulated>;
  template <class T>
  using volatile_member = durable::volatile_member<T>;
  template <class Reclaimer>
  using operation = broken_operation<Reclaimer, Defect>;

  static constexpr bool durable = true;
  template <class T>
  static constexpr bool holds = sizeof(T) <= 8;
  static constexpr unsigned spare_bits = 3;
  static std::string name() { return "broken_flit"; }
  static std::string_view layout() { return "broken"; }
};

}  // namespace outlast::test
