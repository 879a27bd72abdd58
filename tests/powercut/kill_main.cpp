// The main() of kill tests: a test program, or a child of one that is to be killed.
#include <tests/powercut/harness.hpp>

#include <gtest/gtest.h>

int main(int argc, char** argv) {
  if (const auto status = outlast::test::powercut::run_as_child(argc, argv)) return *status;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
