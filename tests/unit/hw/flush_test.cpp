// Goal: the instruction is one that this CPU can run, by choice or by refusal; flushing and
// streaming never change a byte. Method: try every instruction; streamed copies at all alignments
// against memcpy.
#include <outlast/base/error.hpp>
#include <outlast/hw/flush.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace outlast::hw {
namespace {

constexpr flush_instruction all_instructions[] = {
    flush_instruction::none,    flush_instruction::clwb,    flush_instruction::clflushopt,
    flush_instruction::clflush, flush_instruction::dc_cvap, flush_instruction::dc_cvac,
};

class Flush : public testing::Test {
 protected:
  void TearDown() override { detail::chosen.store(before_); }

 private:
  flush_instruction before_ = chosen_flush_instruction();
};

TEST_F(Flush, every_instruction_has_a_name_of_its_own) {
  std::set<std::string_view> names;
  for (const auto instruction : all_instructions) names.insert(name_of(instruction));
  EXPECT_EQ(names.size(), std::size(all_instructions));
  EXPECT_EQ(name_of(flush_instruction::clwb), "clwb");
  EXPECT_EQ(name_of(flush_instruction::dc_cvap), "dc_cvap");
}

TEST_F(Flush, none_cannot_be_chosen) {
  EXPECT_FALSE(can_run(flush_instruction::none));
  EXPECT_THROW(choose_flush_instruction(flush_instruction::none), error);
}

TEST_F(Flush, the_best_instruction_can_be_run) {
  const flush_instruction best = best_flush_instruction();
  EXPECT_TRUE(best == flush_instruction::none || can_run(best));
#if defined(__x86_64__)
  EXPECT_NE(best, flush_instruction::none);
#endif
}

TEST_F(Flush, cleaning_to_coherency_is_never_the_best_because_nothing_persists) {
  EXPECT_NE(best_flush_instruction(), flush_instruction::dc_cvac);
}

TEST_F(Flush, instructions_of_another_machine_cannot_be_run) {
#if defined(__x86_64__)
  EXPECT_FALSE(can_run(flush_instruction::dc_cvap));
  EXPECT_FALSE(can_run(flush_instruction::dc_cvac));
#else
  EXPECT_FALSE(can_run(flush_instruction::clwb));
  EXPECT_FALSE(can_run(flush_instruction::clflush));
#endif
}

TEST_F(Flush, a_refusal_names_the_instruction_and_changes_nothing) {
  for (const auto instruction : all_instructions) {
    if (can_run(instruction)) continue;
    const flush_instruction before = chosen_flush_instruction();
    try {
      choose_flush_instruction(instruction);
      ADD_FAILURE() << name_of(instruction) << " must be refused";
    } catch (const error& failure) {
      EXPECT_EQ(failure.reason(), errc::refused);
      EXPECT_NE(std::string(failure.what()).find(name_of(instruction)), std::string::npos);
    }
    EXPECT_EQ(chosen_flush_instruction(), before);
  }
}

TEST_F(Flush, each_instruction_that_can_run_keeps_what_was_stored) {
  alignas(64) std::array<unsigned char, 256> memory;
  for (const auto instruction : all_instructions) {
    if (!can_run(instruction)) continue;
    choose_flush_instruction(instruction);
    EXPECT_EQ(chosen_flush_instruction(), instruction);
    std::iota(memory.begin(), memory.end(), static_cast<unsigned char>(instruction));
    for (unsigned char& byte : memory) flush_line(&byte);
    store_fence();
    for (std::size_t i = 0; i < memory.size(); ++i) {
      ASSERT_EQ(memory[i], static_cast<unsigned char>(static_cast<std::size_t>(instruction) + i));
    }
  }
}

TEST_F(Flush, fences_and_pauses_may_be_called_at_any_time) {
  store_fence();
  store_order();
  compiler_fence();
  pause();
}

/// A copy of `size` bytes between two offsets of a line, checked byte by byte, surroundings
/// included.
void check_stream_copy(std::size_t to, std::size_t from, std::size_t size) {
  constexpr unsigned char untouched = 0xee;
  alignas(64) std::array<unsigned char, 512> destination;
  alignas(64) std::array<unsigned char, 512> source;
  destination.fill(untouched);
  std::iota(source.begin(), source.end(), static_cast<unsigned char>(7));
  stream_copy(&destination[to], &source[from], size);
  store_fence();
  ASSERT_EQ(std::memcmp(&destination[to], &source[from], size), 0)
      << to << " <- " << from << ", " << size;
  const auto is_untouched = [](unsigned char byte) { return byte == untouched; };
  ASSERT_TRUE(
      std::all_of(destination.begin(), destination.begin() + static_cast<long>(to), is_untouched));
  ASSERT_TRUE(std::all_of(destination.begin() + static_cast<long>(to + size), destination.end(),
                          is_untouched));
}

TEST(StreamCopy, copies_exactly_at_every_alignment) {
  for (std::size_t to = 0; to < 64; to += to < 17 ? 1 : 9) {
    for (std::size_t from = 0; from < 16; ++from) {
      for (std::size_t size = 0; size < 200; size += size < 80 ? 1 : 13) {
        check_stream_copy(to, from, size);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(StreamCopy, copies_a_megabyte_from_an_odd_address_to_another) {
  std::vector<unsigned char> source((1 << 20) + 64);
  std::vector<unsigned char> destination(source.size());
  std::iota(source.begin(), source.end(), static_cast<unsigned char>(0));
  stream_copy(destination.data() + 5, source.data() + 3, 1 << 20);
  store_fence();
  EXPECT_EQ(std::memcmp(destination.data() + 5, source.data() + 3, 1 << 20), 0);
}

}  // namespace
}  // namespace outlast::hw
