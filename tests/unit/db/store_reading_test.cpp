// Goal: what a store reads is what was written to it, by LevelDB's documents: single keys, batches,
// iterators, snapshots, orders. Method: one contract, on a file system in memory, on a disk and in
// ordinary memory.
#include <outlast/db/comparator.hpp>
#include <tests/support/store_home.hpp>

#include <gtest/gtest.h>

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::test {
namespace {

using namespace std::string_literals;

class Store : public testing::TestWithParam<place> {
 protected:
  Store() : home(GetParam()) { EXPECT_EQ(home.open().ToString(), "OK"); }

  std::string put(std::string_view key, std::string_view value) {
    return home->Put({}, key, value).ToString();
  }
  std::string erase(std::string_view key) { return home->Delete({}, key).ToString(); }
  std::string get(std::string_view key) { return value_of(*home, key); }
  std::unique_ptr<db::Iterator> iterate(const db::ReadOptions& options = {}) {
    return std::unique_ptr<db::Iterator>(home->NewIterator(options));
  }
  void put_each(std::string_view keys) {
    for (const char& key : keys) EXPECT_EQ(put({&key, 1}, "of "s + key), "OK");
  }

  store_home home;
};

INSTANTIATE_TEST_SUITE_P(everywhere, Store,
                         testing::Values(place::memory_files, place::disk, place::ordinary_memory,
                                         place::record_files, place::record_disk,
                                         place::ordinary_records),
                         testing::PrintToStringParamName());

/// The iterator's key; "-" if it has none.
std::string at(const db::Iterator& it) { return it.Valid() ? it.key().ToString() : "-"; }

// ---- Single keys ----

TEST_P(Store, gets_what_was_put_last) {
  EXPECT_EQ(get("key"), "(none)");
  EXPECT_EQ(put("key", "value"), "OK");
  EXPECT_EQ(get("key"), "value");
  EXPECT_EQ(put("key", "a longer value than the one before"), "OK");
  EXPECT_EQ(get("key"), "a longer value than the one before");
  EXPECT_EQ(put("key", ""), "OK");
  EXPECT_EQ(get("key"), "");
  EXPECT_EQ(get("ke"), "(none)");
  EXPECT_EQ(get("key "), "(none)");
}

TEST_P(Store, deletes_what_is_there_and_what_is_not) {
  EXPECT_EQ(erase("key"), "OK");
  EXPECT_EQ(put("key", "value"), "OK");
  EXPECT_EQ(erase("key"), "OK");
  EXPECT_EQ(get("key"), "(none)");
  EXPECT_EQ(erase("key"), "OK");
}

TEST_P(Store, leaves_the_string_alone_where_there_is_no_key) {
  std::string value = "before";
  EXPECT_TRUE(home->Get({}, "key", &value).IsNotFound());
  EXPECT_EQ(value, "before");
}

TEST_P(Store, has_any_bytes_in_keys_and_values) {
  const std::vector<std::string> all = {
      "",     "\0"s,  "\0\0"s,      "a\0"s,      "a\0b"s,    "\x7f",
      "\x80", "\xff", "\xff\xff",   "line\nend", "\xc3\x28", std::string(300, '\0'),
      "a",    "%s%n", "\xff\0\xff"s};
  for (const std::string& each : all) EXPECT_EQ(put(each, each + "\0 of it"s), "OK");
  for (const std::string& each : all) EXPECT_EQ(get(each), each + "\0 of it"s);
  EXPECT_EQ(erase(""), "OK");
  EXPECT_EQ(get(""), "(none)");
  EXPECT_EQ(get("\0"s), "\0\0 of it"s);
  EXPECT_EQ(content_of(*home).size(), all.size() - 1);
}

TEST_P(Store, holds_values_of_any_length) {
  std::mt19937_64 random(1);
  std::map<std::string, std::string> model;
  for (const std::size_t bytes : {0, 1, 11, 12, 15, 16, 17, 255, 4095, 4096, 4097, 65535, 65536,
                                  1'000'000, 3'000'000, 5'000'000}) {
    std::string value(bytes, '\0');
    for (std::size_t i = 0; i < bytes; i += 7) value[i] = static_cast<char>(random());
    const std::string key = "of " + std::to_string(bytes);
    EXPECT_EQ(put(key, value), "OK") << bytes;
    model[key] = value;
  }
  for (const auto& [key, value] : model) EXPECT_EQ(get(key) == value, true) << key;
  EXPECT_EQ(content_of(*home) == entries(model.begin(), model.end()), true);
  // The space of those that are gone is there again.
  for (int i = 0; i < 30; ++i) EXPECT_EQ(put("again", std::string(3'000'000, 'a')), "OK") << i;
}

TEST_P(Store, holds_keys_of_some_kib) {
  std::map<std::string, std::string> model;
  for (const std::size_t bytes : {1U, 100U, 1000U, 1023U, 1024U, 4000U, 4096U, 9000U, 100'000U}) {
    for (const char last : {'a', 'b', 'c'}) {
      const std::string key = std::string(bytes, 'k') + last;
      EXPECT_EQ(put(key, std::to_string(bytes) + last), "OK");
      model[key] = std::to_string(bytes) + last;
    }
  }
  EXPECT_EQ(content_of(*home), entries(model.begin(), model.end()));
  for (auto it = model.begin(); it != model.end(); it = model.erase(it)) {
    EXPECT_EQ(get(it->first), it->second);
    EXPECT_EQ(erase(it->first), "OK");
  }
  EXPECT_EQ(content_of(*home), entries());
}

TEST_P(Store, refuses_no_key_that_begins_as_others_do) {
  std::map<std::string, std::string> model;
  std::string key;
  for (int i = 0; i < 600; ++i) {
    key += static_cast<char>(i % 3);
    EXPECT_EQ(put(key, std::to_string(i)), "OK");
    model[key] = std::to_string(i);
  }
  EXPECT_EQ(content_of(*home), entries(model.begin(), model.end()));
}

// ---- Batches ----

TEST_P(Store, writes_a_batch_in_its_order) {
  EXPECT_EQ(put("c", "old"), "OK");
  db::WriteBatch batch;
  batch.Put("a", "1");
  batch.Delete("a");
  batch.Delete("b");
  batch.Put("b", "2");
  batch.Put("b", "3");
  batch.Delete("c");
  batch.Put("", "\0"s);
  EXPECT_EQ(home->Write({}, &batch).ToString(), "OK");
  EXPECT_EQ(content_of(*home), (entries{{"", "\0"s}, {"b", "3"}}));
  batch.Clear();
  EXPECT_EQ(home->Write({}, &batch).ToString(), "OK");
  db::WriteOptions synced;
  synced.sync = true;
  EXPECT_EQ(home->Write(synced, &batch).ToString(), "OK");
  EXPECT_EQ(home->Write(synced, nullptr).ToString(), "OK");
  EXPECT_EQ(content_of(*home).size(), 2U);
}

TEST_P(Store, writes_batches_of_thousands) {
  db::WriteBatch batch;
  for (int i = 0; i < 5000; ++i) batch.Put(std::to_string(i), std::string(100, 'v'));
  EXPECT_EQ(home->Write({}, &batch).ToString(), "OK");
  EXPECT_EQ(content_of(*home).size(), 5000U);
  batch.Clear();
  for (int i = 1; i < 5000; ++i) batch.Delete(std::to_string(i));
  EXPECT_EQ(home->Write({}, &batch).ToString(), "OK");
  EXPECT_EQ(content_of(*home), (entries{{"0", std::string(100, 'v')}}));
}

TEST_P(Store, writes_nothing_of_a_damaged_batch) {
  EXPECT_EQ(put("a", "1"), "OK");
  db::WriteBatch batch;
  batch.Delete("a");
  batch.Put("b", "some value");
  const std::string sound(batch.bytes());
  for (std::size_t bytes = 0; bytes < sound.size(); ++bytes) {
    db::WriteBatch cut = db::WriteBatch::from_bytes({sound.data(), bytes});
    EXPECT_TRUE(home->Write({}, &cut).IsCorruption()) << bytes;
  }
  db::WriteBatch longer = db::WriteBatch::from_bytes(sound + "\1");
  EXPECT_TRUE(home->Write({}, &longer).IsCorruption());
  EXPECT_EQ(content_of(*home), (entries{{"a", "1"}}));
}

TEST_P(Store, refuses_what_is_longer_than_a_gib) {
  // Never read: only the length is looked at.
  const db::Slice longest("x", (std::size_t{1} << 30) + 1);
  EXPECT_TRUE(home->Put({}, longest, "").IsInvalidArgument());
  EXPECT_TRUE(home->Put({}, "", longest).IsInvalidArgument());
  EXPECT_TRUE(home->Delete({}, longest).IsInvalidArgument());
  EXPECT_EQ(content_of(*home), entries());
}

// ---- Iterators ----

TEST_P(Store, shows_nothing_in_an_empty_store) {
  const auto it = iterate();
  EXPECT_FALSE(it->Valid());
  it->SeekToFirst();
  EXPECT_FALSE(it->Valid());
  it->SeekToLast();
  EXPECT_FALSE(it->Valid());
  it->Seek("");
  EXPECT_FALSE(it->Valid());
  EXPECT_EQ(it->status().ToString(), "OK");
}

TEST_P(Store, seeks_to_the_first_key_that_is_not_before) {
  put_each("bdf");
  const auto it = iterate();
  EXPECT_FALSE(it->Valid());
  const auto sought = [&](std::string_view key) {
    it->Seek(key);
    return at(*it);
  };
  EXPECT_EQ(sought(""), "b");
  EXPECT_EQ(sought("b"), "b");
  EXPECT_EQ(sought("b\0"s), "d");
  EXPECT_EQ(sought("c"), "d");
  EXPECT_EQ(it->value().ToString(), "of d");
  EXPECT_EQ(sought("f"), "f");
  EXPECT_EQ(sought("g"), "-");
  EXPECT_EQ(sought("\xff"), "-");
  EXPECT_EQ(sought("a"), "b");
}

TEST_P(Store, turns_an_iterator_around_anywhere) {
  put_each("abc");
  const auto it = iterate();
  it->SeekToFirst();
  it->Prev();
  EXPECT_EQ(at(*it), "-");
  it->SeekToLast();
  it->Next();
  EXPECT_EQ(at(*it), "-");
  it->SeekToLast();
  it->Prev();
  EXPECT_EQ(at(*it), "b");
  it->Next();
  EXPECT_EQ(at(*it), "c");
  it->Prev();
  it->Prev();
  EXPECT_EQ(at(*it), "a");
  it->Next();
  EXPECT_EQ(at(*it), "b");
  it->Seek("b");
  it->Prev();
  EXPECT_EQ(at(*it), "a");
  it->Prev();
  EXPECT_EQ(at(*it), "-");
}

TEST_P(Store, stays_nowhere_when_an_iterator_moves_from_there) {
  put_each("ab");
  const auto it = iterate();
  it->Next();
  it->Prev();
  EXPECT_EQ(at(*it), "-");
  it->SeekToLast();
  for (int i = 0; i < 3; ++i) it->Next();
  it->Prev();
  EXPECT_EQ(at(*it), "-");
  EXPECT_TRUE(it->key().empty() && it->value().empty());
  EXPECT_TRUE(it->status().ok());
  it->SeekToFirst();
  for (int i = 0; i < 3; ++i) it->Prev();
  it->Next();
  EXPECT_EQ(at(*it), "-");
  it->SeekToFirst();
  EXPECT_EQ(at(*it), "a");
}

TEST_P(Store, walks_at_random_as_a_sorted_map_does) {
  std::map<std::string, std::string> model;
  for (int i = 0; i < 2000; i += 2) {
    const std::string key = std::to_string(100'000 + i);
    model[key] = std::to_string(i);
    ASSERT_EQ(put(key, model[key]), "OK");
  }
  std::mt19937_64 random(2);
  const auto it = iterate();
  auto expected = model.end();
  for (int step = 0; step < 20'000; ++step) {
    const auto what = random() % 100;
    if (expected == model.end() || what < 3) {
      const std::string key = std::to_string(99'995 + random() % 2010);
      it->Seek(key);
      expected = model.lower_bound(key);
    } else if (what < 55) {
      it->Next();
      ++expected;
    } else {
      it->Prev();
      expected = expected == model.begin() ? model.end() : std::prev(expected);
    }
    ASSERT_EQ(it->Valid(), expected != model.end()) << step;
    if (!it->Valid()) continue;
    ASSERT_EQ(it->key().ToString(), expected->first) << step;
    ASSERT_EQ(it->value().ToString(), expected->second) << step;
  }
}

TEST_P(Store, shows_an_iterator_what_was_there_at_its_making) {
  for (int i = 100; i < 400; ++i) EXPECT_EQ(put(std::to_string(i), "old"), "OK");
  const auto then = iterate();
  const auto expected = content_of(*home);
  then->SeekToFirst();
  for (int i = 100; i < 400; ++i) {
    ASSERT_TRUE(then->Valid());
    EXPECT_EQ(then->key().ToString(), std::to_string(i));
    EXPECT_EQ(then->value().ToString(), "old");
    EXPECT_EQ(put(std::to_string(i), "new and longer than sixteen bytes"), "OK");
    EXPECT_EQ(erase(std::to_string(i + 1)), "OK");
    EXPECT_EQ(put(std::to_string(i) + "x", "more"), "OK");
    then->Next();
  }
  EXPECT_FALSE(then->Valid());
  EXPECT_EQ(then->status().ToString(), "OK");
}

TEST_P(Store, calls_what_was_registered_when_an_iterator_ends) {
  int calls = 0;
  auto it = iterate();
  it->RegisterCleanup([](void* count, void*) { ++*static_cast<int*>(count); }, &calls, nullptr);
  EXPECT_EQ(calls, 0);
  it.reset();
  EXPECT_EQ(calls, 1);
}

// ---- Snapshots ----

TEST_P(Store, reads_at_a_snapshot_what_was_there) {
  put_each("abc");
  db::ReadOptions then;
  then.snapshot = home->GetSnapshot();
  const auto expected = content_of(*home);
  EXPECT_EQ(put("a", "other"), "OK");
  EXPECT_EQ(erase("b"), "OK");
  EXPECT_EQ(put("d", "new"), "OK");
  EXPECT_EQ(value_of(*home, "a", then), "of a");
  EXPECT_EQ(value_of(*home, "b", then), "of b");
  EXPECT_EQ(value_of(*home, "d", then), "(none)");
  EXPECT_EQ(content_of(*home, then), expected);
  EXPECT_EQ(content_of(*home), (entries{{"a", "other"}, {"c", "of c"}, {"d", "new"}}));
  const auto it = iterate(then);
  home->ReleaseSnapshot(then.snapshot);  // an iterator has what it reads
  it->SeekToFirst();
  EXPECT_EQ(it->value().ToString(), "of a");
}

TEST_P(Store, keeps_many_snapshots_released_in_any_order) {
  std::mt19937_64 random(3);
  std::map<std::string, std::string> model;
  std::vector<std::pair<const db::Snapshot*, entries>> open;
  for (int round = 0; round < 300; ++round) {
    for (int i = 0; i < 5; ++i) {
      const std::string key = std::to_string(random() % 100);
      if (random() % 3 == 0) {
        model.erase(key);
        ASSERT_EQ(erase(key), "OK");
      } else {
        model[key] = std::string(random() % 40, static_cast<char>('a' + round % 26));
        ASSERT_EQ(put(key, model[key]), "OK");
      }
    }
    open.emplace_back(home->GetSnapshot(), entries(model.begin(), model.end()));
    if (open.size() < 50) continue;
    const std::size_t which = random() % open.size();
    db::ReadOptions then;
    then.snapshot = open[which].first;
    ASSERT_EQ(content_of(*home, then), open[which].second);
    home->ReleaseSnapshot(then.snapshot);
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(which));
  }
  for (const auto& [snapshot, expected] : open) {
    db::ReadOptions then;
    then.snapshot = snapshot;
    EXPECT_EQ(content_of(*home, then), expected);
    home->ReleaseSnapshot(snapshot);
  }
  EXPECT_EQ(content_of(*home), entries(model.begin(), model.end()));
}

// ---- Orders ----

class descending final : public db::Comparator {
 public:
  int Compare(const db::Slice& a, const db::Slice& b) const override { return b.compare(a); }
  const char* Name() const override { return "test.descending"; }
  void FindShortestSeparator(std::string*, const db::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

class without_case final : public db::Comparator {
 public:
  int Compare(const db::Slice& a, const db::Slice& b) const override {
    return lower(a).compare(lower(b));
  }
  const char* Name() const override { return "test.without_case"; }
  void FindShortestSeparator(std::string*, const db::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

 private:
  static std::string lower(const db::Slice& of) {
    std::string made = of.ToString();
    for (char& each : made)
      each = static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
    return made;
  }
};

/// Numbers by their value, as LevelDB's own tests have it: an order of more than bytes.
class by_number final : public db::Comparator {
 public:
  int Compare(const db::Slice& a, const db::Slice& b) const override {
    const int left = std::stoi(a.ToString());
    const int right = std::stoi(b.ToString());
    return (left > right) - (left < right);
  }
  const char* Name() const override { return "test.by_number"; }
  void FindShortestSeparator(std::string*, const db::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

TEST_P(Store, sorts_by_another_order) {
  const descending down;
  store_home other(GetParam());
  other.options.comparator = &down;
  ASSERT_EQ(other.open().ToString(), "OK");
  entries expected;
  for (int i = 0; i < 500; ++i) {
    const std::string key = std::to_string(100 + i);
    ASSERT_TRUE(other->Put({}, key, "v").ok());
    expected.emplace(expected.begin(), key, "v");
  }
  EXPECT_EQ(content_of(*other), expected);
  const std::unique_ptr<db::Iterator> it(other->NewIterator({}));
  it->Seek("2505");
  EXPECT_EQ(at(*it), "250");
  it->Next();
  EXPECT_EQ(at(*it), "249");
}

TEST_P(Store, takes_keys_for_one_that_an_order_does) {
  const without_case order;
  store_home other(GetParam());
  other.options.comparator = &order;
  other.options.paranoid_checks = true;
  ASSERT_EQ(other.open().ToString(), "OK");
  ASSERT_TRUE(other->Put({}, "Key", "1").ok());
  ASSERT_TRUE(other->Put({}, "other", "2").ok());
  EXPECT_EQ(value_of(*other, "kEY"), "1");
  const db::Snapshot* const then = other->GetSnapshot();
  ASSERT_TRUE(other->Put({}, "KEY", "3").ok());
  EXPECT_EQ(value_of(*other, "key"), "3");
  EXPECT_EQ(content_of(*other), (entries{{"KEY", "3"}, {"other", "2"}}));
  db::ReadOptions before;
  before.snapshot = then;
  EXPECT_EQ(content_of(*other, before), (entries{{"Key", "1"}, {"other", "2"}}));
  other->ReleaseSnapshot(then);
  ASSERT_TRUE(other->Delete({}, "OTHER").ok());
  EXPECT_EQ(content_of(*other), (entries{{"KEY", "3"}}));
  EXPECT_EQ(other.open().ToString(), "OK");
  EXPECT_EQ(content_of(*other), (entries{{"KEY", "3"}}));
}

TEST_P(Store, keeps_an_order_of_numbers_through_many_pages) {
  const by_number order;
  store_home other(GetParam());
  other.options.comparator = &order;
  ASSERT_EQ(other.open().ToString(), "OK");
  std::map<int, std::string> model;
  std::mt19937_64 random(4);
  for (int i = 0; i < 3000; ++i) {
    const int number = static_cast<int>(random() % 4000);
    // The same key with other bytes.
    const std::string key = std::string(random() % 3, '0') + std::to_string(number);
    if (random() % 4 == 0) {
      model.erase(number);
      ASSERT_TRUE(other->Delete({}, key).ok());
    } else {
      model[number] = key;
      ASSERT_TRUE(other->Put({}, key, key).ok());
    }
  }
  entries expected;
  for (const auto& [number, key] : model) expected.emplace_back(key, key);
  EXPECT_EQ(content_of(*other), expected);
}

// ---- What a store says about itself ----

std::uint64_t number_of(db::DB& of, const std::string& property) {
  std::string text;
  EXPECT_TRUE(of.GetProperty(property, &text)) << property;
  return std::stoull(text);
}

TEST_P(Store, has_the_properties_that_it_says_it_has) {
  put_each("abc");
  EXPECT_EQ(number_of(*home, "leveldb.num-files-at-level0"), 1U);
  EXPECT_EQ(number_of(*home, "leveldb.num-files-at-level6"), 0U);
  EXPECT_EQ(number_of(*home, "outlast.keys"), 3U);
  EXPECT_EQ(number_of(*home, "outlast.file-bytes") > 0, !home.is_volatile());
  EXPECT_GT(number_of(*home, "leveldb.approximate-memory-usage"), 0U);
  std::string text;
  for (const char* const name : {"leveldb.stats", "leveldb.sstables", "outlast.guarantee"}) {
    EXPECT_TRUE(home->GetProperty(name, &text)) << name;
    EXPECT_NE(text, "") << name;
  }
  for (const char* const name : {"", "leveldb.", "leveldb.num-files-at-level",
                                 "leveldb.num-files-at-level7", "leveldb.num-files-at-level0x",
                                 "leveldb.num-files-at-level-1", "stats", "leveldb.stats "}) {
    EXPECT_FALSE(home->GetProperty(name, &text)) << name;
  }
}

// outlast.data-bytes was what had ever been in use, and nothing told of what is free.
TEST_P(Store, tells_what_its_space_is_used_for) {
  const auto told = [&](const std::string& name) { return number_of(*home, "outlast." + name); };
  const auto fill = [&](char with) {
    for (int i = 0; i < 1000; ++i) {
      ASSERT_EQ(put(std::to_string(i), std::string(100, with)), "OK");
    }
  };
  const std::uint64_t at_first = told("live-bytes");
  const std::uint64_t free_at_first = told("free-bytes");
  EXPECT_LT(at_first, 20'000U);
  EXPECT_EQ(told("retained-bytes"), 0U);
  fill('a');
  const std::uint64_t live = told("live-bytes");
  EXPECT_GT(live, 100'000U);
  EXPECT_LT(live, 300'000U);
  EXPECT_EQ(told("data-bytes"), live);
  EXPECT_EQ(told("free-bytes"), free_at_first - (live - at_first));

  const db::Snapshot* const then = home->GetSnapshot();
  fill('b');
  const std::uint64_t retained = told("retained-bytes");
  EXPECT_GT(retained, 100'000U);
  EXPECT_LT(told("live-bytes"), live * 5 / 4);
  EXPECT_EQ(told("data-bytes"), told("live-bytes") + retained);
  EXPECT_EQ(told("free-bytes"), free_at_first + at_first - told("data-bytes"));
  home->ReleaseSnapshot(then);
  home->CompactRange(nullptr, nullptr);
  EXPECT_EQ(told("retained-bytes"), 0U);
  EXPECT_LT(told("live-bytes"), live * 5 / 4);

  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(home->Delete({}, std::to_string(i)).ok());
  home->CompactRange(nullptr, nullptr);
  EXPECT_LT(told("live-bytes"), at_first + 20'000);
  EXPECT_LT(told("data-bytes"), at_first + 20'000);
  EXPECT_GT(told("free-bytes"), free_at_first - 20'000);

  EXPECT_EQ(told("log-bytes") > 0, home.is_logged());
  EXPECT_LE(told("log-bytes"), told("file-bytes"));
  EXPECT_EQ(told("ring-bytes") > 0, !home.has_records());
  EXPECT_LE(told("ring-bytes"), number_of(*home, "leveldb.approximate-memory-usage"));
}

TEST_P(Store, tells_about_how_large_a_range_is) {
  for (int i = 0; i < 4000; ++i)
    ASSERT_EQ(put(std::to_string(10'000 + i), std::string(100, 'v')), "OK");
  const std::vector<db::Range> ranges = {{"10000", "12000"}, {"10000", "14000"},
                                         {"12000", "12000"}, {"2", "3"},
                                         {"", "1"},          {"12000", "11000"}};
  std::vector<std::uint64_t> sizes(ranges.size(), 99);
  home->GetApproximateSizes(ranges.data(), static_cast<int>(ranges.size()), sizes.data());
  constexpr std::uint64_t half = 2000 * 105;  // keys and values
  EXPECT_GT(sizes[0], half * 7 / 10);
  EXPECT_LT(sizes[0], half * 13 / 10);
  EXPECT_GT(sizes[1], 2 * half * 7 / 10);
  EXPECT_LT(sizes[1], 2 * half * 13 / 10);
  for (std::size_t empty = 2; empty < sizes.size(); ++empty) EXPECT_EQ(sizes[empty], 0U) << empty;
}

// As many bytes as go in: it was up to twice as much, by what was added to each key.
TEST_P(Store, tells_the_bytes_of_keys_and_values_in_a_range) {
  constexpr unsigned keys = 8'000;
  for (const std::size_t length : {std::size_t{2}, std::size_t{100}, std::size_t{1000}}) {
    std::map<std::string, std::size_t> all;
    for (unsigned i = 0; i < keys; ++i) {
      const std::string key =
          std::to_string(length) + "-" + std::to_string(10'000'000 + i * 7919 % keys);
      const std::size_t bytes = length + i % 7;
      all[key] = key.size() + bytes;
      ASSERT_EQ(put(key, std::string(bytes, 'v')), "OK");
    }
    const auto key_at = [&](unsigned percent) {
      return std::to_string(length) + "-" + std::to_string(10'000'000 + keys / 100 * percent);
    };
    constexpr std::pair<unsigned, unsigned> ranges[] = {{0, 100}, {0, 50},  {25, 75},
                                                        {10, 20}, {50, 52}, {90, 100}};
    for (const auto& [first, last] : ranges) {
      const std::string from = key_at(first);
      const std::string to = key_at(last);
      std::size_t bytes = 0;
      for (auto at = all.lower_bound(from); at != all.lower_bound(to); ++at) bytes += at->second;
      const db::Range range(from, to);
      std::uint64_t told = 0;
      home->GetApproximateSizes(&range, 1, &told);
      EXPECT_GT(told, bytes * 85 / 100) << length << ": " << first << " to " << last;
      EXPECT_LT(told, bytes * 115 / 100) << length << ": " << first << " to " << last;
    }
  }
}

TEST_P(Store, gives_back_on_compaction_what_snapshots_have_kept) {
  const auto fill = [&](char with) {
    for (int i = 0; i < 1000; ++i) {
      ASSERT_EQ(put(std::to_string(i), std::string(100, with)), "OK");
    }
  };
  fill('a');
  const std::uint64_t before = number_of(*home, "outlast.data-bytes");
  std::vector<const db::Snapshot*> open;
  for (char with = 'b'; with < 'j'; ++with) {
    open.push_back(home->GetSnapshot());
    fill(with);
  }
  const std::uint64_t with_snapshots = number_of(*home, "outlast.data-bytes");
  EXPECT_GT(with_snapshots, before + 8U * 100'000);
  for (const db::Snapshot* each : open) home->ReleaseSnapshot(each);
  const db::Slice from("5");
  home->CompactRange(&from, nullptr);
  home->CompactRange(nullptr, nullptr);
  // What came back is used before anything else is.
  for (char with = 'k'; with < 'q'; ++with) {
    fill(with);
    const db::Snapshot* const one = home->GetSnapshot();
    fill('z');
    home->ReleaseSnapshot(one);
    home->CompactRange(nullptr, nullptr);
  }
  EXPECT_LE(number_of(*home, "outlast.data-bytes"), with_snapshots);
}

}  // namespace
}  // namespace outlast::test
