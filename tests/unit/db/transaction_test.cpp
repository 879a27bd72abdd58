// Goal: transactions over several keys are serializable: transfers keep a sum, write skew and
// phantoms do not happen, and reads see own writes. Method: conflicts told as numbered dialogues;
// threads that transfer while others add up, and random ones whose reads and writes are put into an
// order; both in memory and behind a log.
#include <outlast/db/comparator.hpp>
#include <outlast/db/db.hpp>
#include <outlast/db/transaction.hpp>
#include <tests/unit/db/stores.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace outlast::db {
namespace {

using test::contents;
using test::opened;
using test::store_place;

using entries = std::map<std::string, std::string>;

std::string value_of(Transaction& in, const std::string& key) {
  std::string value;
  const Status status = in.Get(key, &value);
  return status.ok() ? value : status.ToString();
}

bool commits(Transaction& one) {
  bool committed = false;
  EXPECT_EQ(one.Commit({}, &committed).ToString(), "OK");
  return committed;
}

entries scanned(Transaction& in, const std::string& from, const std::string& to) {
  entries all;
  const Slice end(to);
  EXPECT_TRUE(in.Scan(from, to.empty() ? nullptr : &end, [&](const Slice& key, const Slice& value) {
                  all[key.ToString()] = value.ToString();
                  return true;
                }).ok());
  return all;
}

class transaction : public ::testing::TestWithParam<const char*> {
 protected:
  store_place place_{GetParam()};
  std::unique_ptr<DB> db_ = opened(place_.at("store"));
};

TEST_P(transaction, its_reads_see_its_writes_and_nobody_elses_do) {
  ASSERT_TRUE(db_->Put({}, "a", "1").ok());
  Transaction t(db_.get());
  t.Put("b", "2");
  t.Delete("a");
  EXPECT_EQ(value_of(t, "a"), "NotFound: no such key");
  EXPECT_EQ(value_of(t, "b"), "2");
  EXPECT_EQ(contents(*db_), (entries{{"a", "1"}}));
  EXPECT_TRUE(commits(t));
  EXPECT_EQ(contents(*db_), (entries{{"b", "2"}}));
}

TEST_P(transaction, dropped_or_cleared_it_changes_nothing) {
  {
    Transaction dropped(db_.get());
    dropped.Put("a", "1");
  }
  Transaction cleared(db_.get());
  cleared.Put("a", "1");
  cleared.Clear();
  EXPECT_TRUE(commits(cleared));
  EXPECT_TRUE(contents(*db_).empty());
}

TEST_P(transaction, a_changed_key_is_a_conflict_and_then_it_has_no_effect) {
  ASSERT_TRUE(db_->Put({}, "a", "1").ok());
  Transaction t(db_.get());                  // 1 ->
  EXPECT_EQ(value_of(t, "a"), "1");          // 1 ->
  t.Put("b", "of 1");                        // 1 ->
  ASSERT_TRUE(db_->Put({}, "a", "2").ok());  // 2 <-
  EXPECT_EQ(value_of(t, "a"), "1");          // 1 -> the same each time
  EXPECT_FALSE(commits(t));                  // 1 ->
  EXPECT_EQ(contents(*db_), (entries{{"a", "2"}}));
  EXPECT_EQ(value_of(t, "a"), "2");  // it is as new
  t.Put("b", "of 2");
  EXPECT_TRUE(commits(t));
  EXPECT_EQ(contents(*db_), (entries{{"a", "2"}, {"b", "of 2"}}));
}

TEST_P(transaction, a_key_that_was_absent_is_a_part_of_what_was_read) {
  Transaction t(db_.get());
  EXPECT_EQ(value_of(t, "a"), "NotFound: no such key");
  t.Put("a", "mine");
  ASSERT_TRUE(db_->Put({}, "a", "").ok());
  EXPECT_FALSE(commits(t));
  EXPECT_EQ(contents(*db_), (entries{{"a", ""}}));
}

TEST_P(transaction, write_skew_does_not_happen) {
  ASSERT_TRUE(db_->Put({}, "alice", "on call").ok());
  ASSERT_TRUE(db_->Put({}, "bob", "on call").ok());
  Transaction alice(db_.get());
  Transaction bob(db_.get());
  EXPECT_EQ(value_of(alice, "bob"), "on call");  // 1 ->
  EXPECT_EQ(value_of(bob, "alice"), "on call");  // 2 <-
  alice.Put("alice", "off");                     // 1 ->
  bob.Put("bob", "off");                         // 2 <-
  EXPECT_TRUE(commits(alice));                   // 1 ->
  EXPECT_FALSE(commits(bob));                    // 2 <-
}

TEST_P(transaction, a_phantom_is_a_conflict_and_a_neighbour_is_none) {
  for (const char* key : {"k1", "k3", "m"}) ASSERT_TRUE(db_->Put({}, key, "").ok());
  Transaction t(db_.get());
  const auto sum = [&] {
    EXPECT_EQ(scanned(t, "k", "l").size(), 2u);
    t.Put("count", "2");
  };
  sum();
  ASSERT_TRUE(db_->Put({}, "k2", "").ok());  // a phantom
  EXPECT_FALSE(commits(t));
  ASSERT_TRUE(db_->Delete({}, "k2").ok());
  sum();
  ASSERT_TRUE(db_->Put({}, "l", "").ok());  // the first one that is no part
  ASSERT_TRUE(db_->Put({}, "j", "").ok());
  EXPECT_TRUE(commits(t));
  sum();
  ASSERT_TRUE(db_->Delete({}, "k3").ok());
  EXPECT_FALSE(commits(t));
  EXPECT_EQ(scanned(t, "l", ""), (entries{{"l", ""}, {"m", ""}}));
  t.Put("count", "2");
  ASSERT_TRUE(db_->Put({}, "z", "").ok());
  EXPECT_FALSE(commits(t));
}

TEST_P(transaction, a_scan_that_was_ended_has_read_no_further) {
  for (const char* key : {"a", "b", "c"}) ASSERT_TRUE(db_->Put({}, key, "").ok());
  Transaction t(db_.get());
  const auto first_two = [&] {
    int n = 0;
    const auto visit = [&](const Slice&, const Slice&) { return ++n < 2; };
    EXPECT_TRUE(t.Scan("", nullptr, visit).ok());
    t.Put("first", "two");
  };
  first_two();
  ASSERT_TRUE(db_->Put({}, "bb", "").ok());
  EXPECT_TRUE(commits(t));
  first_two();
  ASSERT_TRUE(db_->Put({}, "aa", "").ok());
  EXPECT_FALSE(commits(t));
}

TEST_P(transaction, a_scan_sees_own_writes_in_their_place) {
  for (const char* key : {"a", "c", "e", "g"}) ASSERT_TRUE(db_->Put({}, key, "there").ok());
  Transaction t(db_.get());
  t.Put("b", "own");
  t.Put("c", "own");
  t.Delete("e");
  t.Put("h", "own");
  EXPECT_EQ(scanned(t, "a", "h"),
            (entries{{"a", "there"}, {"b", "own"}, {"c", "own"}, {"g", "there"}}));
  EXPECT_EQ(scanned(t, "h", "a"), entries{});
  ASSERT_TRUE(db_->Put({}, "e", "changed").ok());  // hidden, and yet read
  EXPECT_FALSE(commits(t));
}

TEST_P(transaction, of_a_snapshot_reads_one_moment) {
  ASSERT_TRUE(db_->Put({}, "a", "1").ok());
  ReadOptions then;
  then.snapshot = db_->GetSnapshot();
  ASSERT_TRUE(db_->Put({}, "a", "2").ok());
  Transaction reading(db_.get(), then);
  EXPECT_EQ(value_of(reading, "a"), "1");
  EXPECT_TRUE(commits(reading));  // as if it had run then
  Transaction writing(db_.get(), then);
  EXPECT_EQ(value_of(writing, "a"), "1");
  writing.Put("b", "of 1");
  EXPECT_FALSE(commits(writing));
  db_->ReleaseSnapshot(then.snapshot);
}

TEST_P(transaction, is_durable_at_return_if_asked) {
  WriteOptions durable;
  durable.sync = true;
  ASSERT_TRUE(RunTransaction(db_.get(), durable, [](Transaction& t) {
                t.Put(std::string("\0", 1), "zero");
                t.Put("", std::string(100'000, 'x'));
                return Status();
              }).ok());
  const entries before = contents(*db_);
  db_.reset();
  db_ = opened(place_.at("store"));
  EXPECT_EQ(contents(*db_), before);
  EXPECT_EQ(before.size(), 2u);
}

TEST_P(transaction, a_failure_of_the_function_is_the_answer_and_changes_nothing) {
  int runs = 0;
  const Status status = RunTransaction(db_.get(), {}, [&](Transaction& t) {
    t.Put("a", "1");
    return ++runs == 1 ? Status::InvalidArgument("no funds") : Status();
  });
  EXPECT_EQ(status.ToString(), "Invalid argument: no funds");
  EXPECT_TRUE(contents(*db_).empty());
}

TEST_P(transaction, without_space_it_has_no_effect) {
  StoreOptions more;
  more.capacity_bytes = std::size_t{2} << 20;
  Options options;
  options.create_if_missing = true;
  DB* made = nullptr;
  ASSERT_TRUE(DB::Open(options, more, place_.at("small"), &made).ok());
  const std::unique_ptr<DB> small(made);
  ASSERT_TRUE(small->Put({}, "a", "1").ok());
  Transaction t(small.get());
  EXPECT_EQ(value_of(t, "a"), "1");
  t.Put("a", "2");
  t.Put("b", std::string(3 << 20, 'x'));
  bool committed = true;
  EXPECT_TRUE(t.Commit({}, &committed).IsIOError());
  EXPECT_FALSE(committed);
  EXPECT_EQ(contents(*small), (entries{{"a", "1"}}));
  t.Put("a", "2");
  EXPECT_TRUE(commits(t));
}

/// Moves 1 from one account to another, if it is there.
Status transfer(Transaction& t, const std::string& from, const std::string& to) {
  std::string a;
  std::string b;
  Status status = t.Get(from, &a);
  if (status.ok()) status = t.Get(to, &b);
  if (!status.ok() || a == "0") return status;
  t.Put(from, std::to_string(std::stoi(a) - 1));
  t.Put(to, std::to_string(std::stoi(b) + 1));
  return {};
}

TEST_P(transaction, transfers_keep_the_sum_for_every_reader) {
  constexpr int accounts = 8;
  constexpr int transfers = 300;
  for (int i = 0; i < accounts; ++i) ASSERT_TRUE(db_->Put({}, std::to_string(i), "10").ok());
  std::atomic<int> running{3};
  std::vector<std::thread> threads;
  for (int self = 0; self < 3; ++self) {
    threads.emplace_back([&, self] {
      for (int i = 0; i < transfers; ++i) {
        const std::string from = std::to_string((i * 5 + self) % accounts);
        const std::string to = std::to_string((i * 3 + 2 * self + 1) % accounts);
        if (from == to) continue;
        const auto move = [&](Transaction& t) { return transfer(t, from, to); };
        EXPECT_TRUE(RunTransaction(db_.get(), {}, move).ok());
      }
      running.fetch_sub(1);
    });
  }
  do {
    int sum = 0;
    for (const auto& [account, balance] : contents(*db_)) sum += std::stoi(balance);
    EXPECT_EQ(sum, accounts * 10);
    int seen = 0;
    EXPECT_TRUE(RunTransaction(db_.get(), {}, [&](Transaction& t) {
                  seen = 0;
                  for (int i = 0; i < accounts; ++i)
                    seen += std::stoi(value_of(t, std::to_string(i)));
                  return Status();
                }).ok());
    EXPECT_EQ(seen, accounts * 10);
  } while (running.load() != 0);
  for (std::thread& each : threads) each.join();
}

/// What a transaction that committed has read and written: versions of keys, which are the names of
/// the transactions that wrote them.
struct history {
  std::map<std::string, std::string> read;
  std::vector<std::string> written;  // each of them was read
};

/// Is there an order in which each of them would have read the same? Versions of a key follow each
/// other, since each that is written was read before: then who read a version goes behind its
/// writer, and before the writer of the next one.
bool is_serializable(const std::map<std::string, history>& all) {
  std::map<std::pair<std::string, std::string>, std::string> next;  // of a key's version
  for (const auto& [name, one] : all) {
    for (const std::string& key : one.written) {
      if (!next.emplace(std::pair(key, one.read.at(key)), name).second) return false;
    }
  }
  std::map<std::string, std::set<std::string>> behind;
  std::map<std::string, std::size_t> before;
  const auto order = [&](const std::string& first, const std::string& second) {
    if (first != second && behind[first].insert(second).second) ++before[second];
  };
  for (const auto& [name, one] : all) {
    for (const auto& [key, version] : one.read) {
      if (all.contains(version)) order(version, name);
      if (const auto later = next.find({key, version}); later != next.end()) {
        order(name, later->second);
      }
    }
  }
  std::vector<std::string> free;
  for (const auto& [name, one] : all) {
    if (before[name] == 0) free.push_back(name);
  }
  std::size_t ordered = 0;
  for (; ordered < free.size(); ++ordered) {
    for (const std::string& each : std::set<std::string>(behind[free[ordered]])) {
      if (--before[each] == 0) free.push_back(each);
    }
  }
  return ordered == all.size();
}

TEST(serializability, is_judged_rightly) {
  const history skewed_1{{{"a", "0"}, {"b", "0"}}, {"a"}};
  const history skewed_2{{{"a", "0"}, {"b", "0"}}, {"b"}};
  const history after_1{{{"a", "1"}, {"b", "0"}}, {"b"}};
  const history lost{{{"a", "0"}}, {"a"}};
  EXPECT_FALSE(is_serializable({{"1", skewed_1}, {"2", skewed_2}}));
  EXPECT_FALSE(is_serializable({{"1", skewed_1}, {"2", lost}}));
  EXPECT_TRUE(is_serializable({{"1", skewed_1}, {"2", after_1}}));
}

TEST_P(transaction, random_ones_of_several_threads_are_serializable) {
  const std::vector<std::string> keys{"a", "b", "c", "d"};
  for (const std::string& key : keys) ASSERT_TRUE(db_->Put({}, key, "0").ok());
  std::map<std::string, history> all;
  std::mutex all_mutex;
  const auto work = [&](int self) {
    std::minstd_rand random(static_cast<unsigned>(self) + 1);
    for (int i = 0; i < 150; ++i) {
      const std::string name = std::to_string(self) + "." + std::to_string(i);
      const auto choice = random();
      history now;
      const auto run = [&](Transaction& t) {
        now = {};
        if (choice % 3 == 0) {
          now.read = scanned(t, "a", choice % 2 == 0 ? "c" : "");
        } else {
          for (const auto each : {choice / 3 % 4, choice / 12 % 4}) {
            now.read[keys.at(each)] = value_of(t, keys.at(each));
          }
        }
        std::this_thread::yield();
        now.written.push_back(std::next(now.read.begin(), choice / 48 % now.read.size())->first);
        t.Put(now.written.back(), name);
        return Status();
      };
      EXPECT_TRUE(RunTransaction(db_.get(), {}, run).ok());
      const std::lock_guard lock(all_mutex);
      all[name] = now;
    }
  };
  std::vector<std::thread> threads;
  for (int self = 0; self < 3; ++self) threads.emplace_back(work, self);
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(all.size(), 450u);
  EXPECT_TRUE(is_serializable(all));
}

INSTANTIATE_TEST_SUITE_P(media, transaction,
                         ::testing::Values("memory", "disk", "records", "records_on_disk"),
                         [](const auto& of) { return std::string(of.param); });

/// Upper and lower case are one.
class without_case final : public Comparator {
 public:
  int Compare(const Slice& a, const Slice& b) const override {
    return Slice(lower(a)).compare(lower(b));
  }
  const char* Name() const override { return "without_case"; }
  void FindShortestSeparator(std::string* /*start*/, const Slice& /*limit*/) const override {}
  void FindShortSuccessor(std::string* /*key*/) const override {}

 private:
  static std::string lower(const Slice& of) {
    std::string text = of.ToString();
    for (char& each : text) each = static_cast<char>(each | 0x20);
    return text;
  }
};

TEST(transaction_of_an_order, finds_keys_as_the_order_does) {
  const store_place place("memory");
  const without_case order;
  Options options;
  options.create_if_missing = true;
  options.comparator = &order;
  const auto db = opened(place.at("store"), options);
  ASSERT_TRUE(db->Put({}, "Key", "1").ok());
  Transaction t(db.get());
  EXPECT_EQ(value_of(t, "kEY"), "1");
  t.Put("keY", "2");
  EXPECT_EQ(value_of(t, "KEy"), "2");
  t.Put("key", "3");
  EXPECT_EQ(scanned(t, "A", "Z"), (entries{{"key", "3"}}));
  EXPECT_TRUE(commits(t));
  EXPECT_EQ(contents(*db), (entries{{"key", "3"}}));
}

}  // namespace
}  // namespace outlast::db
