// What a key occupies in its pool: blocks, the free ones at hand, sentinels and towers, in whole
// pages; twice where they stand in two replicas. Keys have 8 bytes, and so have the values of maps.
#include <bench/engine/registry.hpp>
#include <bench/micro/micro.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace outlast::bench {
namespace {

/// Those whose nodes differ; other policies lay them out like one of these.
constexpr std::array<std::string_view, 7> policies = {
    "transient",    "flit<adjacent,automatic>", "mirror", "mirror<in_place>", "link_free", "soft",
    "soft_in_place"};

/// Where a policy is at home: what never flushes needs no second replica.
bool concerns_us(const registration& entry) {
  const std::string_view home = entry.names.policy == twin_policy ? twin_domain : "adr";
  return entry.make && entry.names.domain == home &&
         std::find(policies.begin(), policies.end(), entry.names.policy) != policies.end();
}

/// Every key once: in a list the last one first, so that each insertion stays at its head;
/// elsewhere scattered, so that trees stay flat.
void fill(subject& target, const std::string& structure, std::uint64_t keys) {
  constexpr std::uint64_t stride = 0x9e3779b97f4a7c15;  // odd: a bijection of the words
  for (std::uint64_t i = 0; i < keys; ++i) {
    target.insert(structure == "harris_list" ? keys - i : i * stride);
  }
}

}  // namespace

void measure_memory(const micro_settings& settings, const micro_sink& sink) {
  const std::uint64_t keys = settings.quick ? 100'000 : 1'000'000;
  const registry all = all_combinations();
  for (const registration& entry : all.all()) {
    if (!concerns_us(entry)) continue;
    const std::unique_ptr<subject> target =
        entry.make({{keys, 0, {}}, settings.pool_directory, false});
    fill(*target, entry.names.structure, keys);
    const std::optional<std::uint64_t> bytes = target->bytes();
    if (!bytes) continue;
    sink({.benchmark = "memory",
          .subject = entry.names.structure + ", " + entry.names.policy,
          .value = static_cast<double>(*bytes) / static_cast<double>(keys),
          .unit = "bytes/key",
          .repetitions = 1});
  }
}

}  // namespace outlast::bench
