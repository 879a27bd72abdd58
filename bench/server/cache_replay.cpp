// Replays a trace of keys on a server that speaks memcached's text protocol, and counts hits.
//
//   cache_replay --port 11211 --trace scans --requests 6000000 --measured 2000000
//
// Each request reads a key, and stores it if it is absent. A key always has the same length, of 100
// to 1,000 bytes. Requests are sent some at a time, reads before stores, so that a trace is the
// same for all servers. The result is one line of JSON.
#include <bench/engine/distribution.hpp>
#include <bench/engine/random.hpp>
#include <bench/server/text_client.hpp>

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace outlast::bench {
namespace {

struct replay_options {
  std::uint16_t port = 11211;
  std::string trace = "zipf";
  std::uint64_t requests = 6'000'000;
  std::uint64_t measured = 2'000'000;
  std::uint64_t keys = 1'000'000;
  std::size_t batch = 50;
  std::uint64_t seed = 1;
};

/// The keys of a trace, one after the other.
class trace {
 public:
  explicit trace(const replay_options& of)
      : scans_(of.trace == "scans"), zipf_(of.keys, 0.99), random_(of.seed), next_cold_(of.keys) {}

  std::uint64_t next() {
    // After 80,000 requests, a scan reads 20,000 keys that are never read again.
    constexpr std::uint64_t period = 100'000;
    constexpr std::uint64_t of_scan = 20'000;
    const bool is_scan = scans_ && place_++ % period >= period - of_scan;
    return is_scan ? next_cold_++ : zipf_(random_);
  }

 private:
  bool scans_;
  zipf_keys zipf_;
  xoshiro256 random_;
  std::uint64_t next_cold_;
  std::uint64_t place_ = 0;
};

std::size_t length_of(std::uint64_t key) { return 100 + splitmix64(key)() % 901; }

struct outcome {
  std::uint64_t hits = 0;
  std::uint64_t measured = 0;
  std::uint64_t refused = 0;
};

outcome replay(const replay_options& chosen) {
  text_client server(chosen.port);
  trace keys(chosen);
  const std::string bytes(1000, 'v');
  outcome found;
  std::vector<std::uint64_t> numbers;
  std::vector<std::string> names;
  std::unordered_set<std::uint64_t> absent;
  for (std::uint64_t done = 0; done < chosen.requests; done += chosen.batch) {
    numbers.clear();
    names.clear();
    absent.clear();
    for (std::size_t i = 0; i < chosen.batch; ++i) {
      numbers.push_back(keys.next());
      names.push_back("key:" + std::to_string(numbers.back()));
    }
    const std::vector<bool> present = server.get(names);
    const bool counts = done >= chosen.requests - chosen.measured;
    for (std::size_t i = 0; i < chosen.batch; ++i) {
      found.measured += counts ? 1 : 0;
      found.hits += counts && present[i] ? 1 : 0;
      if (present[i] || !absent.insert(numbers[i]).second) continue;
      server.set(names[i], std::string_view(bytes).substr(0, length_of(numbers[i])));
    }
    found.refused += server.finish_sets();
  }
  return found;
}

int run(int count, const char* const* words) {
  replay_options chosen;
  CLI::App tool("Replays a trace on a server of memcached's protocol, and counts hits");
  tool.add_option("--port", chosen.port, "Port on 127.0.0.1")->required();
  tool.add_option("--trace", chosen.trace, "zipf, or scans: one in five keys is of a scan")
      ->check(CLI::IsMember({"zipf", "scans"}));
  tool.add_option("--requests", chosen.requests, "Requests")->check(CLI::PositiveNumber);
  tool.add_option("--measured", chosen.measured, "The last ones, whose hits are counted")
      ->check(CLI::PositiveNumber);
  tool.add_option("--keys", chosen.keys, "Keys of the distribution")
      ->check(CLI::Range(std::uint64_t{1}, max_key_range));
  tool.add_option("--batch", chosen.batch, "Requests that are sent at a time")
      ->check(CLI::Range(1, 90));
  tool.add_option("--seed", chosen.seed, "Seed of the trace");
  CLI11_PARSE(tool, count, words);
  if (chosen.measured > chosen.requests) chosen.measured = chosen.requests;
  const auto began = std::chrono::steady_clock::now();
  const outcome found = replay(chosen);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::cout << "{\"measured\": " << found.measured << ", \"hits\": " << found.hits
            << ", \"refused\": " << found.refused << ", \"seconds\": " << took.count() << "}\n";
  return 0;
}

}  // namespace
}  // namespace outlast::bench

int main(int count, char** words) {
  try {
    return outlast::bench::run(count, words);
  } catch (const std::exception& wrong) {
    std::cerr << "cache_replay: " << wrong.what() << '\n';
    return 1;
  }
}
