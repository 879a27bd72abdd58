// Workloads A to F of the Yahoo! Cloud Serving Benchmark. [Coo10]
//
// Record number i has the key record_key(i), so that neither the order of loading nor popularity
// follows the order of keys. A record is one value, not ten fields.
#include <bench/db_bench/benchmarks.hpp>
#include <bench/engine/distribution.hpp>

#include <algorithm>

namespace outlast::bench {
namespace {

constexpr double popularity = 0.99;  // of zipf
constexpr std::uint64_t longest_scan = 100;

std::uint64_t records(const worker& self) {
  return std::max<std::uint64_t>(self.common.records->load(std::memory_order_relaxed), 1);
}

void write_record(worker& self, std::uint64_t record) {
  const std::string_view key = self.key(record_key(record));
  const std::string_view value = self.values();
  self.at->put(key, value);
  self.did.bytes += key.size() + value.size();
}

void read_record(worker& self, std::uint64_t record) {
  const std::string_view key = self.key(record_key(record));
  ++self.did.sought;
  if (!self.at->get(key, self.value)) return;
  ++self.did.found;
  self.did.bytes += key.size() + self.value.size();
}

void insert_record(worker& self) {
  write_record(self, self.common.records->fetch_add(1, std::memory_order_relaxed));
}

void scan_from(worker& self, std::uint64_t record) {
  const std::uint64_t length = self.random.below(longest_scan) + 1;
  const std::unique_ptr<place> at = self.at->iterate();
  ++self.did.sought;
  bool is_at_key = at->to(self.key(record_key(record)));
  if (is_at_key) ++self.did.found;
  for (std::uint64_t i = 0; is_at_key && i < length; ++i) {
    self.did.bytes += at->key().size() + at->value().size();
    is_at_key = at->to_next();
  }
}

/// Threads share the records.
void load(worker& self) {
  const std::uint64_t threads = self.settings.threads;
  const std::uint64_t share = (self.settings.keys + threads - 1 - self.id) / threads;
  repeat(self, share, [&](std::uint64_t i) { write_record(self, i * threads + self.id); });
}

/// Operations of which `percent` are rare(record) and the others usual(record), of popular records.
template <class Usual, class Rare>
void mix(worker& self, std::uint64_t percent, Usual&& usual, Rare&& rare) {
  const zipf_keys popular(records(self), popularity);
  repeat(self, self.settings.reads_of_a_thread(), [&](std::uint64_t) {
    const bool is_rare = self.random.below(100) < percent;
    const std::uint64_t record = popular(self.random);
    if (is_rare) {
      rare(record);
    } else {
      usual(record);
    }
  });
}

template <std::uint64_t Percent>
void read_and_update(worker& self) {
  mix(
      self, Percent, [&](std::uint64_t record) { read_record(self, record); },
      [&](std::uint64_t record) { write_record(self, record); });
}

/// The youngest records are the popular ones.
void read_latest(worker& self) {
  const std::uint64_t at_start = records(self);
  const zipf_keys ages(at_start, popularity);
  repeat(self, self.settings.reads_of_a_thread(), [&](std::uint64_t) {
    if (self.random.below(100) < 5) return insert_record(self);
    read_record(self, records(self) - ages.rank(self.random));
  });
}

void scan_and_insert(worker& self) {
  mix(
      self, 5, [&](std::uint64_t record) { scan_from(self, record); },
      [&](std::uint64_t) { insert_record(self); });
}

void read_and_modify(worker& self) {
  const auto modify = [&](std::uint64_t record) {
    read_record(self, record);
    write_record(self, record);
  };
  mix(self, 50, [&](std::uint64_t record) { read_record(self, record); }, modify);
}

}  // namespace

void append_ycsb(std::vector<benchmark>& all) {
  const benchmark workloads[] = {
      {"ycsbload", "insert N records", load, starts_with::nothing},
      {"ycsba", "50 % reads, 50 % updates, zipf(0.99)", read_and_update<50>},
      {"ycsbb", "95 % reads, 5 % updates, zipf(0.99)", read_and_update<5>},
      {"ycsbc", "reads, zipf(0.99)", read_and_update<0>},
      {"ycsbd", "95 % reads of the latest records, 5 % insertions", read_latest},
      {"ycsbe", "95 % scans of 1 to 100 records from a zipf(0.99) one, 5 % insertions",
       scan_and_insert},
      {"ycsbf", "50 % reads, 50 % read and modify, zipf(0.99)", read_and_modify},
  };
  all.insert(all.end(), std::begin(workloads), std::end(workloads));
}

}  // namespace outlast::bench
