// A campaign of power cuts: power_cuts.hpp, as long as one likes.
//
//   power_cut_campaign --images 100000       that many images, over all structures
//   power_cut_campaign --structure hash_table --seed 17 --images 2000
//
// The seed is drawn afresh unless it is given. Images are checked in batches with a seed each; a
// complaint names the arguments that repeat its batch. Ends with one line of JSON; exit status 1 if
// anything was lost, 2 if it could not be tried.
#include <tests/powercut/arguments.hpp>
#include <tests/powercut/disk_subjects.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <iomanip>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace outlast::test::powercut {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::uint64_t batch_images = 2'000;

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

void add(cut_result& to, const cut_result& more) {
  to.incarnations += more.incarnations;
  to.fences += more.fences;
  to.images += more.images;
  to.nested += more.nested;
  to.acknowledged += more.acknowledged;
}

std::string json(const cut_result& of) {
  std::ostringstream text;
  text << "\"images\":" << of.images << ",\"nested\":" << of.nested
       << ",\"lives\":" << of.incarnations << ",\"fences\":" << of.fences
       << ",\"acknowledged\":" << of.acknowledged
       << ",\"wrong\":" << (of.complaint.empty() ? 0 : 1);
  return text.str();
}

/// Judges `images` images of one structure, batch by batch, up to the first complaint.
cut_result campaign(const file_definition& what, std::uint64_t images, std::uint64_t seed) {
  cut_result sum;
  const clock::time_point start = clock::now();
  while (sum.images < images && sum.complaint.empty()) {
    const std::uint64_t wanted = std::min(batch_images, images - sum.images);
    const cut_result batch =
        cut_power_again_and_again(*what.make(), {.seed = seed, .images = wanted});
    add(sum, batch);
    if (!batch.complaint.empty()) {
      sum.complaint = batch.complaint;
      std::cout << what.structure << " " << what.policy << ": " << batch.complaint
                << "\nrepeat with: --structure " << what.structure << " --seed " << seed
                << " --images " << wanted << '\n';
    }
    ++seed;
  }
  std::cout << what.structure << " " << what.policy << ": " << sum.images << " images, "
            << sum.acknowledged << " operations acknowledged, " << std::fixed
            << std::setprecision(1) << seconds_since(start) << " s" << std::endl;
  return sum;
}

int run(const arguments& given) {
  std::uint64_t seed = given.number("--seed");
  if (seed == 0) seed = std::random_device{}();
  std::cout << "seed " << seed << std::endl;
  std::vector<file_definition> chosen = disk_subjects();
  const std::string& wanted = given.text("--structure");
  std::erase_if(chosen,
                [&](const auto& each) { return wanted != "all" && each.structure != wanted; });
  if (chosen.empty()) throw std::invalid_argument("there is no structure " + wanted);

  const std::uint64_t images = (given.number("--images") + chosen.size() - 1) / chosen.size();
  const clock::time_point start = clock::now();
  cut_result sum;
  std::string parts;
  for (const file_definition& each : chosen) {
    const cut_result part = campaign(each, images, seed);
    add(sum, part);
    if (!part.complaint.empty()) sum.complaint = part.complaint;
    parts += (parts.empty() ? "" : ",") + std::string("{\"structure\":\"") + each.structure +
             "\",\"policy\":\"" + each.policy + "\"," + json(part) + "}";
  }
  std::cout << "{\"domain\":\"lossy_file\",\"seed\":" << seed << "," << json(sum)
            << ",\"seconds\":" << std::fixed << std::setprecision(1) << seconds_since(start)
            << ",\"combinations\":[" << parts << "]}" << std::endl;
  return sum.complaint.empty() ? 0 : 1;
}

}  // namespace
}  // namespace outlast::test::powercut

int main(int argc, char** argv) {
  using outlast::test::powercut::arguments;
  try {
    return outlast::test::powercut::run(
        arguments(argc, argv, {{"--images", "100000"}, {"--seed", "0"}, {"--structure", "all"}}));
  } catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 2;
  }
}
