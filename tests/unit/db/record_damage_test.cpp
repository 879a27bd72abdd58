// Goal: what is damaged in a store of records is refused or found at a read, and never silently
// absent. Method: a bit of each byte of its headers, marks and records is changed, one at a time,
// and the store is opened for reading, which changes nothing.
#include <outlast/db/db.hpp>
#include <outlast/db/write_batch.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <src/db/records/format.hpp>
#include <tests/support/store_home.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::test {
namespace {

using store_detail::records::mark_entry;
using store_detail::records::mark_header;
using store_detail::records::segment_header;

/// How the store's last process has ended.
enum class last_end { closed, killed, crashed };

struct damage_plan {
  place where;
  last_end how;
};

using content = std::map<std::string, std::string>;

class RecordDamage : public ::testing::TestWithParam<damage_plan> {
 protected:
  RecordDamage() { home.more.max_unsynced_time = std::chrono::hours(1); }
  ~RecordDamage() override { pool_detail::test_hooks().boot.reset(); }

  /// The last write of a killed process cannot be distinguished from one that was interrupted.
  static constexpr const char* last_key = "zz";

  void make_store() {
    const auto fill = [&] {
      db::WriteOptions synced;
      synced.sync = true;
      bool good = home.open().ok();
      const auto put = [&](const std::string& key, const std::string& value, bool syncs) {
        good = good && home->Put(syncs ? synced : db::WriteOptions(), key, value).ok();
      };
      for (int i = 0; i < 12; ++i) put(key_of(i), std::string(10 + i, 'a'), i == 11);
      good = good && home->Delete({}, key_of(3)).ok();
      db::WriteBatch batch;
      batch.Put(key_of(4), "of a batch");
      batch.Put(key_of(20), "of a batch, too");
      batch.Delete(key_of(5));
      good = good && home->Write(synced, &batch).ok();
      put(key_of(6), "again", true);
      put(last_key, "last", true);
      if (GetParam().how == last_end::closed) home.close();
      return good;
    };
    if (GetParam().how == last_end::closed) {
      ASSERT_TRUE(fill());
    } else {
      ASSERT_TRUE(in_a_killed_process(fill));
    }
    if (GetParam().how == last_end::crashed) {
      pool_detail::test_hooks().boot = pool_format::boot_id{1, 2, 3};
    }
    for (int i = 0; i < 12; ++i) expected[key_of(i)] = std::string(10 + i, 'a');
    expected.erase(key_of(3));
    expected[key_of(4)] = "of a batch";
    expected[key_of(20)] = "of a batch, too";
    expected.erase(key_of(5));
    of_older_mark = expected;
    of_older_mark[key_of(6)] = "again";
    expected = of_older_mark;
    expected[last_key] = "last";
  }
  static std::string key_of(int i) { return "key" + std::to_string(100 + i); }

  std::string read_file() const {
    std::ifstream file(home.file("store.pool"), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write_byte(std::size_t at, char byte) const {
    std::fstream file(home.file("store.pool"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
  }
  template <class Visit>
  static void for_each_word(const std::string& bytes, std::uint64_t word, Visit&& visit) {
    const std::string_view wanted(reinterpret_cast<const char*>(&word), sizeof word);
    for (std::size_t at = 0; (at = bytes.find(wanted, at)) != std::string::npos; at += 8) {
      if (at % 8 == 0) visit(at);
    }
  }
  /// Returns the places of all bytes that mean something.
  static std::vector<std::size_t> bytes_of_store(const std::string& bytes) {
    std::vector<std::size_t> all;
    const auto add = [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) all.push_back(i);
    };
    for_each_word(bytes, segment_header::right_magic, [&](std::size_t at) {
      segment_header header;
      std::memcpy(static_cast<void*>(&header), bytes.data() + at, sizeof header);
      std::size_t end = at + static_cast<std::size_t>(header.bytes);
      while (end > at && bytes[end - 1] == 0) --end;
      add(at, end);
    });
    for_each_word(bytes, mark_header::right_magic,
                  [&](std::size_t at) { add(at, at + sizeof(mark_header) + sizeof(mark_entry)); });
    return all;
  }

  /// Returns "" if the store is refused, or has what it had. A read can find a damaged value.
  std::string judge() {
    db::Options options = home.options;
    options.create_if_missing = false;
    db::DB* opened = nullptr;
    const db::Status status = db::DB::OpenForReading(options, home.name(), &opened);
    if (!status.ok()) {
      const bool is_clear =
          status.IsCorruption() && status.ToString().find("store.pool") != std::string::npos;
      refused += is_clear ? 1 : 0;
      return is_clear ? "" : status.ToString();
    }
    const std::unique_ptr<db::DB> store(opened);
    content found;
    const std::unique_ptr<db::Iterator> at(store->NewIterator({}));
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      found[at->key().ToString()] = value_checked(*store, at->key().ToString());
    }
    const auto is_as = [&](const content& wanted) {
      if (found.size() != wanted.size()) return false;
      for (const auto& [key, value] : wanted) {
        const auto there = found.find(key);
        if (there == found.end() || (there->second != value && there->second != damaged)) {
          return false;
        }
      }
      return true;
    };
    if (is_as(expected)) return "";
    if (GetParam().how != last_end::closed && is_as(of_older_mark)) return "";
    std::string text = "it has";
    for (const auto& [key, value] : found) text += " " + key + "=" + value;
    return text;
  }
  static std::string value_checked(db::DB& store, const std::string& key) {
    db::ReadOptions checked;
    checked.verify_checksums = true;
    std::string value;
    const db::Status status = store.Get(checked, key, &value);
    if (status.IsCorruption()) return damaged;
    return status.ok() ? value : status.ToString();
  }

  static constexpr const char* damaged = "(damaged)";
  store_home home{GetParam().where};
  content expected;
  content of_older_mark;  ///< what a crash leaves if the newest mark does not count
  int refused = 0;
};

INSTANTIATE_TEST_SUITE_P(everywhere, RecordDamage,
                         testing::Values(damage_plan{place::record_files, last_end::closed},
                                         damage_plan{place::record_files, last_end::killed},
                                         damage_plan{place::record_disk, last_end::closed},
                                         damage_plan{place::record_disk, last_end::killed},
                                         damage_plan{place::record_disk, last_end::crashed}),
                         [](const auto& plan) {
                           const std::string where =
                               plan.param.where == place::record_disk ? "disk_" : "memory_";
                           return where + (plan.param.how == last_end::closed   ? "closed"
                                           : plan.param.how == last_end::killed ? "killed"
                                                                                : "crashed");
                         });

TEST_P(RecordDamage, of_each_byte_is_not_silent) {
  ASSERT_NO_FATAL_FAILURE(make_store());
  ASSERT_EQ(judge(), "");
  const std::string bytes = read_file();
  const std::vector<std::size_t> places = bytes_of_store(bytes);
  ASSERT_GT(places.size(), 500U);
  int silent = 0;
  for (const std::size_t at : places) {
    const char other = static_cast<char>(bytes[at] ^ (1 << at % 8));
    write_byte(at, other);
    const std::string wrong = judge();
    write_byte(at, bytes[at]);
    if (wrong.empty()) continue;
    ++silent;
    ADD_FAILURE() << "byte " << at << ", of " << places.size() << ": " << wrong;
    if (silent == 10) return;
  }
  EXPECT_GT(refused, 100);
  EXPECT_EQ(judge(), "");
}

}  // namespace
}  // namespace outlast::test
