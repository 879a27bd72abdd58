// Goal: OUTLAST_FLUSH chooses the instruction where the machine can run it, and nothing else does.
// Method: ctest starts this program once with each name; the choice is made before main.
#include <outlast/hw/flush.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

namespace outlast::hw {
namespace {

flush_instruction expected_for(std::string_view wish) {
  for (const auto instruction :
       {flush_instruction::clwb, flush_instruction::clflushopt, flush_instruction::clflush,
        flush_instruction::dc_cvap, flush_instruction::dc_cvac}) {
    if (name_of(instruction) == wish && can_run(instruction)) return instruction;
  }
  return best_flush_instruction();
}

TEST(FlushEnvironment, chooses_what_the_machine_can_run) {
  const char* const wish = std::getenv("OUTLAST_FLUSH");
  EXPECT_EQ(chosen_flush_instruction(), expected_for(wish == nullptr ? "" : wish));
}

}  // namespace
}  // namespace outlast::hw
