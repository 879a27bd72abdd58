#include <bench/db_bench/benchmarks.hpp>

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace outlast::bench {

scattered::scattered(std::uint64_t range) : range_(std::max<std::uint64_t>(range, 1)) {
  stride_ = static_cast<std::uint64_t>(static_cast<double>(range_) * 0.6180339887498949);
  stride_ = std::max<std::uint64_t>(stride_, 1);
  while (std::gcd(stride_, range_) != 1) ++stride_;
}

worker::worker(common_state& of, unsigned number, std::unique_ptr<session> on)
    : common(of),
      settings(*of.settings),
      id(number),
      at(std::move(on)),
      random(of.seed + number),
      key(settings.key_prefix_bytes),
      values(settings.value_bytes, settings.compression_ratio, of.seed + number) {}

namespace {

constexpr std::uint64_t batch_entries = 1000;
constexpr std::uint64_t small_batch_entries = 64;
constexpr std::size_t large_value_bytes = 100'000;

// ---- Writing ----

void put(worker& self, std::uint64_t number, std::string_view value) {
  const std::string_view key = self.key(number);
  self.at->put(key, value);
  self.did.bytes += key.size() + value.size();
}

void fill_in_order(worker& self) {
  repeat(self, self.settings.keys, [&](std::uint64_t i) { put(self, i, self.values()); });
}

void fill_at_random(worker& self) {
  const std::uint64_t keys = self.settings.keys;
  repeat(self, keys, [&](std::uint64_t) { put(self, self.random.below(keys), self.values()); });
}

/// Threads share the keys.
void fill_each_once(worker& self) {
  const std::uint64_t keys = self.settings.keys;
  const std::uint64_t threads = self.settings.threads;
  const scattered order(keys);
  const std::uint64_t share = (keys + threads - 1 - self.id) / threads;
  repeat(self, share,
         [&](std::uint64_t i) { put(self, order(i * threads + self.id), self.values()); });
}

void fill_a_thousandth(worker& self) {
  const std::uint64_t keys = self.settings.keys;
  repeat(self, keys / 1000,
         [&](std::uint64_t) { put(self, self.random.below(keys), self.values()); });
}

void fill_with_large_values(worker& self) {
  const std::uint64_t keys = self.settings.keys;
  repeat(self, keys / 1000, [&](std::uint64_t) {
    put(self, self.random.below(keys), self.values(large_value_bytes));
  });
}

/// An operation is an entry. `number(i)`: of the key of entry i.
template <class Number>
void put_batches(worker& self, std::uint64_t entries_of_each, Number&& number) {
  std::vector<key_text> keys(entries_of_each, self.key);
  std::vector<key_and_value> entries(entries_of_each);
  repeat(self, self.settings.keys / entries_of_each, [&](std::uint64_t i) {
    for (std::uint64_t k = 0; k < entries_of_each; ++k) {
      entries[k] = {keys[k](number(i * entries_of_each + k)), self.values()};
      self.did.bytes += entries[k].key.size() + entries[k].value.size();
    }
    self.at->put_all(entries);
    self.did.operations += entries_of_each - 1;
  });
}

void fill_by_batches(worker& self) {
  put_batches(self, batch_entries, [](std::uint64_t i) { return i; });
}

void overwrite_by_batches(worker& self) {
  put_batches(self, small_batch_entries,
              [&](std::uint64_t) { return self.random.below(self.settings.keys); });
}

void put_one(worker& self) {
  repeat(self, 1,
         [&](std::uint64_t) { put(self, self.random.below(self.settings.keys), self.values()); });
}

void erase_in_order(worker& self) {
  repeat(self, self.settings.keys, [&](std::uint64_t i) { self.at->erase(self.key(i)); });
}

void erase_at_random(worker& self) {
  const std::uint64_t keys = self.settings.keys;
  repeat(self, keys, [&](std::uint64_t) { self.at->erase(self.key(self.random.below(keys))); });
}

// ---- Reading ----

void get(worker& self, std::string_view key) {
  ++self.did.sought;
  if (!self.at->get(key, self.value)) return;
  ++self.did.found;
  self.did.bytes += key.size() + self.value.size();
}

void read_below(worker& self, std::uint64_t keys, std::uint64_t count) {
  repeat(self, count, [&](std::uint64_t) { get(self, self.key(self.random.below(keys))); });
}

void read_at_random(worker& self) {
  read_below(self, self.settings.keys, self.settings.reads_of_a_thread());
}

void read_hot(worker& self) {
  read_below(self, (self.settings.keys + 99) / 100, self.settings.reads_of_a_thread());
}

void read_one(worker& self) { read_below(self, self.settings.keys, 1); }

/// Between two keys that may be there.
void read_missing(worker& self) {
  std::string key;
  repeat(self, self.settings.reads_of_a_thread(), [&](std::uint64_t) {
    key.assign(self.key(self.random.below(self.settings.keys))).push_back('.');
    get(self, key);
  });
}

/// All keys, as often as it takes to have read enough.
template <class Begin, class Step>
void read_along(worker& self, Begin&& begin, Step&& step) {
  const std::unique_ptr<place> at = self.at->iterate();
  bool is_at_key = begin(*at);
  // The end is found out before the first entry is counted: an empty store has none.
  repeat(self, is_at_key ? self.settings.reads_of_a_thread() : 0, [&](std::uint64_t) {
    self.did.bytes += at->key().size() + at->value().size();
    is_at_key = step(*at);
    if (!is_at_key) is_at_key = begin(*at);
  });
}

void read_in_order(worker& self) {
  read_along(self, [](place& at) { return at.to_first(); }, [](place& at) { return at.to_next(); });
}

void read_backwards(worker& self) {
  read_along(
      self, [](place& at) { return at.to_last(); }, [](place& at) { return at.to_previous(); });
}

void seek_with(worker& self, place& at, std::uint64_t number) {
  const std::string_view key = self.key(number);
  ++self.did.sought;
  if (!at.to(key)) return;
  self.did.bytes += at.key().size() + at.value().size();
  if (at.key() == key) ++self.did.found;
}

void seek_at_random(worker& self) {
  repeat(self, self.settings.reads_of_a_thread(), [&](std::uint64_t) {
    const std::unique_ptr<place> at = self.at->iterate();
    seek_with(self, *at, self.random.below(self.settings.keys));
  });
}

void seek_in_order(worker& self) {
  const std::unique_ptr<place> at = self.at->iterate();
  std::uint64_t number = 0;
  repeat(self, self.settings.reads_of_a_thread(), [&](std::uint64_t) {
    number = (number + self.random.below(100)) % self.settings.keys;
    seek_with(self, *at, number);
  });
}

/// Until nobody reads any more.
void keep_overwriting(worker& self) {
  const std::uint64_t keys = self.settings.keys;
  while (self.common.measured.load(std::memory_order_relaxed) > 0) {
    put(self, self.random.below(keys), self.values());
    ++self.did.operations;
  }
}

std::vector<benchmark> all_benchmarks() {
  constexpr auto fresh = starts_with::nothing;
  std::vector<benchmark> all = {
      {"fillseq", "write N keys in order", fill_in_order, fresh},
      {"fillbatch", "the same, 1000 in a batch", fill_by_batches, fresh},
      {"fillrandom", "write N random keys", fill_at_random, fresh},
      {"filluniquerandom", "write each of N keys once, in a random order", fill_each_once, fresh},
      {"fillsync", "write N/1000 random keys, with sync", fill_a_thousandth, fresh, writes::synced},
      {"fill100K", "write N/1000 random keys with values of 100,000 bytes", fill_with_large_values,
       fresh},
      {"overwrite", "write N random keys into what is there", fill_at_random},
      {"overwritebatch", "the same, 64 in a batch", overwrite_by_batches},
      {"deleteseq", "delete N keys in order", erase_in_order},
      {"deleterandom", "delete N random keys", erase_at_random},
      {"readseq", "read R entries in order", read_in_order},
      {"readreverse", "read R entries in the reverse order", read_backwards},
      {"readrandom", "read R random keys", read_at_random},
      {"readmissing", "look R times for what is not there", read_missing},
      {"readhot", "read R random keys of the first hundredth", read_hot},
      {"seekrandom", "R times: make an iterator, seek a random key", seek_at_random},
      {"seekordered", "seek R ascending keys with one iterator", seek_in_order},
      {"readwhilewriting", "readrandom, while one more thread overwrites", read_at_random,
       starts_with::what_is_there, writes::as_asked, keep_overwriting},
      {"readone", "read one random key", read_one},
      {"writeone", "write one random key", put_one},
  };
  all[all.size() - 2].threads = 1;
  all.back().threads = 1;
  append_ycsb(all);
  return all;
}

}  // namespace

const std::vector<benchmark>& benchmarks() {
  static const std::vector<benchmark> all = all_benchmarks();
  return all;
}

}  // namespace outlast::bench
