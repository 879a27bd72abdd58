// How fast the verifier is on this machine: a list in bare memory, and one in its pool. One JSON
// object a line. Nothing else should run.
#include "toy_list.hpp"

#include <outlast/verify/explorer/explorer.hpp>
#include <tests/catalogue/catalogue.hpp>

#include <cstdio>
#include <string>

namespace {

using outlast::verify::options;
using outlast::verify::report;

void print(const report& done) {
  const auto per_second = [&](std::uint64_t count) {
    return static_cast<double>(count) / done.seconds;
  };
  std::printf(
      "{\"structure\":\"%s\",\"policy\":\"%s\",\"seconds\":%.2f,\"executions_per_s\":%.0f,"
      "\"images_considered_per_s\":%.0f,\"images_checked_per_s\":%.0f,"
      "\"nested_checked_per_s\":%.0f}\n",
      done.structure.c_str(), done.policy.c_str(), done.seconds, per_second(done.executions),
      per_second(done.crash_images), per_second(done.images_checked),
      per_second(done.nested_checked));
}

options plain(double seconds) {
  options how;
  how.seconds = seconds;
  return how;
}

/// Only recovery and check of distinct images.
options without_second_crash(double seconds) {
  options how = plain(seconds);
  how.nested = 0;
  return how;
}

/// Operations follow on every image, with crashes.
options with_second_crash(double seconds) {
  options how = plain(seconds);
  how.nested_one_in = 1;
  return how;
}

}  // namespace

int main() {
  using namespace outlast;
  for (const options& how : {plain(3), without_second_crash(3)}) {
    auto list = test::list_subject<test::list_defect::none>();
    print(verify::explorer(list, how).run());
  }
  for (const verify::catalogue_entry& entry : verify::catalogue()) {
    if (entry.structure != "harris_list" && entry.structure != "hash_table") continue;
    const auto tested = entry.make();
    for (const options& how : {plain(3), with_second_crash(3)}) {
      print(verify::explorer(*tested, how).run());
    }
  }
}
