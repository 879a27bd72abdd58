// A campaign of lives: differential.hpp, as long as one likes.
//
//   store_differential --steps 1000000 --seed 7
//   store_differential --where device --sync always --steps 20000
//
// Ends with one line of JSON; exit status 1 if an answer was wrong or something was lost, 2 if it
// could not be tried.
#include <tests/db/differential.hpp>
#include <tests/powercut/arguments.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace outlast::test {
namespace {

using db_steps::syncing;

struct named_plan {
  std::string where;
  std::string sync;
  std::uint64_t share;  ///< of the steps, in percent
  differential_plan what;
};

std::vector<named_plan> all_plans() {
  return {
      {"memory", "sometimes", 15, {.where = place::memory_files}},
      {"memory-reversed", "sometimes", 10, {.where = place::memory_files, .is_reversed = true}},
      {"records", "sometimes", 12, {.where = place::record_files}},
      {"records-index", "sometimes", 8, {.where = place::record_files, .keeps_index = true}},
      {"records-reversed", "sometimes", 5, {.where = place::record_files, .is_reversed = true}},
      {"records-disk", "sometimes", 3, {.where = place::record_disk}},
      {"records-disk-index", "sometimes", 3, {.where = place::record_disk, .keeps_index = true}},
      {"records-disk", "never", 4, {.where = place::record_disk, .how = syncing::never}},
      {"disk", "sometimes", 10, {.where = place::disk}},
      {"disk", "never", 10, {.where = place::disk, .how = syncing::never}},
      {"disk", "always", 5, {.where = place::disk, .how = syncing::always}},
      {"device", "sometimes", 4, {.where = place::device}},
      {"device", "always", 1, {.where = place::device, .how = syncing::always}},
      {"ordinary", "never", 10, {.where = place::ordinary_memory}},
  };
}

bool is_wanted(const std::string& wanted, const std::string& it) {
  return wanted == "all" || wanted == it;
}

void tell(const named_plan& plan, const differential_result& found, double seconds) {
  std::cout << "{\"where\":\"" << plan.where << "\",\"sync\":\"" << plan.sync
            << "\",\"seed\":" << plan.what.seed << ",\"steps\":" << found.steps
            << ",\"writes\":" << found.writes << ",\"kills\":" << found.kills
            << ",\"kills_while_opening\":" << found.kills_while_opening
            << ",\"reopenings\":" << found.reopenings
            << ",\"beside_leveldb\":" << (found.beside_leveldb ? "true" : "false")
            << ",\"seconds\":" << seconds << ",\"wrong\":" << (found.complaint.empty() ? 0 : 1)
            << "}\n";
  if (!found.complaint.empty()) std::cerr << found.complaint << '\n';
}

int run(const powercut::arguments& given) {
  using clock = std::chrono::steady_clock;
  std::uint64_t seed = given.number("--seed");
  if (seed == 0) seed = std::random_device()();
  bool is_wrong = false;
  bool is_any = false;
  for (named_plan& plan : all_plans()) {
    if (!is_wanted(given.text("--where"), plan.where)) continue;
    if (!is_wanted(given.text("--sync"), plan.sync)) continue;
    is_any = true;
    plan.what.seed = seed;
    plan.what.steps = given.number("--steps") * plan.share / 100;
    const auto begin = clock::now();
    const differential_result found = compare_lives(plan.what);
    tell(plan, found, std::chrono::duration<double>(clock::now() - begin).count());
    is_wrong = is_wrong || !found.complaint.empty();
  }
  if (!is_any) throw std::invalid_argument("there is no such combination");
  return is_wrong ? 1 : 0;
}

}  // namespace
}  // namespace outlast::test

int main(int argc, char** argv) {
  try {
    return outlast::test::run(outlast::test::powercut::arguments(
        argc, argv,
        {{"--steps", "1000000"}, {"--seed", "0"}, {"--where", "all"}, {"--sync", "all"}}));
  } catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 2;
  }
}
