// Mirror as one gets it wrong: the algorithm of the paper's Figure 4 with one defect each.
#pragma once

#include <outlast/base/word_pair.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/durable/replicas.hpp>
#include <outlast/durable/roles.hpp>
#include <outlast/verify/machine/simulated.hpp>

#include <atomic>
#include <cstdint>

namespace outlast::test {

/// The first two are what is printed.
enum class mirror_defect {
  none,                 ///< without a defect: must pass; begins again where the exchange is lost
  literal,              ///< Figure 4: a lost exchange fails, and only helps before [errata 3b]
  stale_expected,       ///< the same, and `expected` keeps what it was [errata 3.1]
  no_flush,             ///< the persistent pair is not written back after its exchange
  no_fence,             ///< ... and not waited for before the volatile one follows
  helps_without_flush,  ///< a helper copies what may not be durable
  volatile_first,       ///< what is visible is not durable yet
  forgets_the_number,   ///< recovery restores the value alone
  settles_first,        ///< written back before it is exchanged [errata 3.7]
  helps_too_soon,       ///< a lost exchange is helped before it is written back [errata 3.7]
  no_help,              ///< a thread that finds the replicas different waits for the owner
};

template <mirror_defect Defect>
class broken_mirror {
  using D = domain::simulated;
  using pair = base::pair_value;
  static constexpr auto acquire = std::memory_order_acquire;
  static constexpr auto relaxed = std::memory_order_relaxed;

 public:
  explicit broken_mirror(std::uint64_t value) {
    D::store(stored().first, value, relaxed);
    D::store(stored().second, 0, relaxed);
    D::store(seen_.first, value, relaxed);
    D::store(seen_.second, 0, relaxed);
  }
  void recover() {
    D::store(seen_.first, D::load(stored().first, relaxed), relaxed);
    const bool forgets = Defect == mirror_defect::forgets_the_number;
    D::store(seen_.second, forgets ? 0 : D::load(stored().second, relaxed), relaxed);
  }

  [[nodiscard]] std::uint64_t load() const { return D::load(seen_.first, acquire); }
  void store(std::uint64_t value) { (void)exchange(value); }
  std::uint64_t exchange(std::uint64_t value) {
    for (;;) {
      std::uint64_t before = load();
      if (compare_exchange(before, value)) return before;
    }
  }
  std::uint64_t fetch_add(std::uint64_t operand) {
    for (;;) {
      std::uint64_t before = load();
      if (compare_exchange(before, before + operand)) return before;
    }
  }

  /// Line numbers are those of Figure 4.
  bool compare_exchange(std::uint64_t& expected, std::uint64_t desired) {
    for (;;) {
      const pair in_p = read(stored());  // 5, 6
      const std::uint64_t p_again = D::load(stored().second, acquire);
      const pair in_v = read(seen_);  // 9, 10
      const std::uint64_t v_again = D::load(seen_.second, acquire);
      if (p_again != in_p.second || v_again != in_v.second) continue;  // 14
      if (in_p.second == in_v.second + 1) {                            // 19
        help(in_v, in_p);
        continue;
      }
      if (in_p.second != in_v.second) continue;  // 29
      if (in_p.first != expected) {              // 32
        expected = in_p.first;
        return false;
      }
      pair before = in_p;  // 38
      const pair after{desired, in_p.second + 1};
      if constexpr (Defect == mirror_defect::volatile_first) {
        pair was = in_v;
        if (!D::compare_exchange_pair(seen_, was, after)) continue;
      }
      if constexpr (Defect == mirror_defect::settles_first) settle();
      const bool exchanged = D::compare_exchange_pair(stored(), before, after);  // 40
      if constexpr (Defect == mirror_defect::helps_too_soon) {
        if (!exchanged) publish(in_v, before);
      }
      if constexpr (Defect != mirror_defect::settles_first) settle();  // 41, 42
      if (exchanged) {
        publish(in_v, after);  // 44
        return true;
      }
      if (before.first == expected) continue;  // 46
      publish(in_v, before);                   // 47
      if constexpr (Defect == mirror_defect::literal) {
        expected = before.first;
        return false;
      } else if constexpr (Defect == mirror_defect::stale_expected) {
        return false;
      }
    }
  }

 private:
  [[nodiscard]] base::word_pair& stored() const {
    return *original_of<D>(const_cast<base::word_pair*>(&seen_));
  }
  /// The number, then the value. [errata 3.4]
  static pair read(const base::word_pair& from) {
    const std::uint64_t number = D::load(from.second, acquire);
    return {D::load(from.first, acquire), number};
  }

  void settle() {
    if constexpr (Defect != mirror_defect::no_flush) D::pwb(&stored());
    if constexpr (Defect != mirror_defect::no_fence) D::pfence();
  }
  void publish(pair before, const pair& after) { D::compare_exchange_pair(seen_, before, after); }

  void help(const pair& in_v, const pair& in_p) {
    if constexpr (Defect == mirror_defect::no_help) {
      D::relax();
    } else if constexpr (Defect == mirror_defect::helps_without_flush) {
      publish(in_v, in_p);
    } else {
      settle();
      publish(in_v, in_p);
    }
  }

  base::word_pair seen_;
};

}  // namespace outlast::test
