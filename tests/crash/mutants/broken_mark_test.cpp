// Goal: link-and-persist is right with the owner's number as its mark, and the verifier finds the
// defects of other marks, including the single bit of the literature.
// Method: two registers that hold a handful of values, so that values come back; hand-written words
// with one defect each, and the library's cell.
#include <outlast/domain/persist.hpp>
#include <outlast/durable/baselines/link_and_persist.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/verify/explorer/explorer.hpp>
#include <outlast/verify/explorer/subject.hpp>
#include <outlast/verify/machine/simulated.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <memory>
#include <new>

namespace outlast::test {
namespace {

using D = domain::simulated;

enum class mark_defect {
  none,
  one_bit,            ///< a slow writer takes down the mark of a later store of the same value
  down_before_fence,  ///< the mark goes before the value is durable
  load_ignores_mark,  ///< a reader answers from what may be lost
  unmarked,           ///< the store is visible before anybody can know that it may be lost
};

/// A word like the library's, with a defect.
template <mark_defect Defect>
class broken_word {
 public:
  explicit broken_word(std::uint32_t value) {
    D::store(word_.value, value, std::memory_order_relaxed);
  }

  std::uint32_t load() const {
    const std::uint64_t seen = D::load(word_.value, std::memory_order_acquire);
    if (seen >> 48 != 0 && Defect != mark_defect::load_ignores_mark) domain::flush<D>(this, 8);
    return static_cast<std::uint32_t>(seen);
  }

  std::uint32_t exchange(std::uint32_t value) {
    domain::fence<D>();
    std::uint64_t marked = value | mark();
    const std::uint64_t before = D::exchange(word_.value, marked, std::memory_order_acq_rel);
    domain::flush<D>(this, 8);
    if (Defect == mark_defect::down_before_fence) take_down(marked);
    domain::fence<D>();
    if (Defect != mark_defect::down_before_fence) take_down(marked);
    return static_cast<std::uint32_t>(before);
  }

  void recover() {
    const std::uint64_t seen = D::load(word_.value, std::memory_order_relaxed);
    D::store(word_.value, static_cast<std::uint32_t>(seen), std::memory_order_relaxed);
  }

 private:
  static std::uint64_t mark() {
    if (Defect == mark_defect::unmarked) return 0;
    if (Defect == mark_defect::one_bit) return std::uint64_t{1} << 48;
    return std::uint64_t{base::this_thread().slot + 1} << 48;
  }
  void take_down(std::uint64_t& marked) {
    const std::uint64_t value = static_cast<std::uint32_t>(marked);
    D::compare_exchange(word_.value, marked, value, std::memory_order_release);
  }

  base::raw_atomic<std::uint64_t> word_;
};

/// Registers as a map from their numbers, 1 and 2, to what they hold; nothing is 0.
template <class Word>
class registers final : public verify::world {
 public:
  registers(std::span<std::byte> memory, bool fresh) {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      std::byte* const at = memory.data() + 64 * i;
      words_[i] = fresh ? ::new (at) Word(0) : std::launder(reinterpret_cast<Word*>(at));
      if (!fresh) words_[i]->recover();
      domain::persist<D>(at, sizeof(Word));  // also what a killed process left in the caches
    }
  }

  verify::outcome apply(const verify::call& what) override {
    Word& word = *words_.at(what.key - 1);
    if (static_cast<verify::map_operation>(what.kind) == verify::map_operation::put) {
      const bool was_absent = word.exchange(static_cast<std::uint32_t>(what.argument)) == 0;
      domain::complete<D>();
      return {was_absent};
    }
    const std::uint32_t value = word.load();
    domain::complete<D>();
    return value == 0 ? verify::outcome{} : verify::outcome{true, value};
  }

  verify::abstract_state observe() override {
    verify::abstract_state state;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (const std::uint32_t value = words_[i]->load()) {
        state.push_back(i + 1);
        state.push_back(value);
      }
    }
    return state;
  }

 private:
  std::array<Word*, 2> words_;
};

/// A map of two keys and two values.
class few_values final : public verify::oracle {
 public:
  bool explains(const verify::abstract_state& initial, const verify::history& seen,
                const verify::abstract_state& found) const override {
    return map_.explains(initial, seen, found);
  }
  verify::call draw(verify::random& source, const verify::scope& within,
                    std::uint64_t serial) const override {
    verify::call drawn = map_.draw(source, within, serial);
    drawn.argument = 1 + source.below(2);
    return drawn;
  }
  std::string describe(const verify::call& what) const override { return map_.describe(what); }
  std::string describe(const verify::abstract_state& state) const override {
    return map_.describe(state);
  }

 private:
  verify::map_oracle map_{{verify::map_operation::put, verify::map_operation::get}, true};
};

template <class Word>
verify::report explore(std::uint64_t executions) {
  verify::bare_subject<registers<Word>> tested("registers", "hand-written",
                                               std::make_shared<few_values>());
  verify::options how;
  how.seconds = 60;
  how.max_executions = executions;
  how.within = {.threads = 2, .operations = 2, .keys = 1, .prefill = 1};
  return verify::explorer(tested, how).run();
}

template <mark_defect Defect>
void expect_found() {
  const verify::report done = explore<broken_word<Defect>>(400'000);
  EXPECT_TRUE(done.found) << to_text(done);
  if (done.found) {
    std::printf("found after %llu executions, %.2f s: %s\n",
                static_cast<unsigned long long>(done.executions), done.seconds,
                done.found->what.c_str());
  }
}

TEST(BrokenMark, passes_without_a_defect) {
  const verify::report own = explore<broken_word<mark_defect::none>>(20'000);
  EXPECT_FALSE(own.found) << to_text(*own.found);
  using policy = durable::link_and_persist<durable::automatic, D>;
  const verify::report library = explore<policy::cell<std::uint32_t>>(20'000);
  EXPECT_FALSE(library.found) << to_text(*library.found);
}

TEST(BrokenMark, is_found_being_one_bit) { expect_found<mark_defect::one_bit>(); }
TEST(BrokenMark, is_found_down_before_the_fence) { expect_found<mark_defect::down_before_fence>(); }
TEST(BrokenMark, is_found_ignored_by_loads) { expect_found<mark_defect::load_ignores_mark>(); }
TEST(BrokenMark, is_found_missing) { expect_found<mark_defect::unmarked>(); }

}  // namespace
}  // namespace outlast::test
