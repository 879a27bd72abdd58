// Goal: an operation of a store without ordinary memory has no effect, and one that returns OK has
// its whole effect, also after the store was closed and opened again. Method: that of
// operation_table.hpp, for the interface of the store.
#include "tests/oom/operation_table.hpp"

#include <outlast/db/checkpoint.hpp>
#include <outlast/db/transaction.hpp>
#include <tests/support/store_home.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace outlast::test {
namespace {

using content = std::map<std::string, std::string>;

const std::string there = "key-10-" + std::string(30, 'k');
const std::string elsewhere = "none-" + std::string(30, 'k');
const std::string value(60, 'w');

db::WriteOptions synced() {
  db::WriteOptions made;
  made.sync = true;
  return made;
}

/// What an operation works on.
struct tested_store {
  store_home home;
  explicit tested_store(place where) : home(where) {}
  [[nodiscard]] std::string copy() const { return home.name() + "-copy"; }
};

struct store_operation {
  std::string name;
  std::function<db::Status(tested_store&)> run;
  std::function<void(content&)> effect;
  /// Returns what else is wrong after an operation that failed, or did not.
  std::function<std::string(tested_store&, bool failed)> check;
};

content all_of(db::DB& of) {
  content found;
  const std::unique_ptr<db::Iterator> at(of.NewIterator({}));
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    found.emplace(at->key().ToString(), at->value().ToString());
  }
  if (!at->status().ok()) found.emplace("(status)", at->status().ToString());
  return found;
}

/// One operation, one failure. Returns what is wrong.
std::string run_cell(const store_operation& tested, place where, failing_calls& plan) {
  tested_store store(where);
  store_home& home = store.home;
  home.more.capacity_bytes = std::size_t{1} << 20;
  home.options.paranoid_checks = true;
  if (!home.open().ok()) return "the store does not open";
  content model;
  for (int i = 10; i < 40; ++i) {
    const std::string key = "key-" + std::to_string(i) + "-" + std::string(30, 'k');
    model[key] = std::string(static_cast<std::size_t>(i) * 3, 'v');
    if (!home->Put({}, key, model[key]).ok()) return "the store takes no keys";
  }
  bool failed = true;
  std::string said;
  std::thread([&] {
    calls_to_fail = &plan;
    try {
      const db::Status status = tested.run(store);
      without_failures([&] {
        failed = !status.ok();
        said = status.ToString();
      });
    } catch (const std::bad_alloc&) {
      without_failures([&] { said = "out of memory"; });
    }
  }).join();
  if (failed && !plan.met) return "failed although no call did: " + said;
  if (failed && said.find("memory") == std::string::npos) return "said " + said;
  if (!failed) tested.effect(model);
  const std::string how = failed ? " after a failure" : " after OK";
  if (tested.check) {
    if (std::string wrong = tested.check(store, failed); !wrong.empty()) return wrong + how;
  }
  if (all_of(*home) != model) return "another content" + how;
  const db::Status again = home.open();
  if (!again.ok()) return again.ToString() + how;
  return all_of(*home) == model ? "" : "another content" + how + ", reopened";
}

tested_row run_row(const store_operation& tested, place where) {
  tested_row row;
  for (const bool all_that_follow : {false, true}) {
    for (std::size_t n = 1;; n += where == place::disk ? 1 + n / 3 : n < 40 ? 1 : n / 8) {
      failing_calls plan{n, all_that_follow};
      const std::string wrong = run_cell(tested, where, plan);
      if (plan.met) ++row.injected;
      if (!wrong.empty()) {
        ++row.wrong;
        if (row.complaint.empty()) {
          row.complaint = "failure " + std::to_string(n) +
                          (all_that_follow ? " and all that follow: " : ": ") + wrong;
        }
      }
      if (!plan.met) break;
    }
  }
  return row;
}

void nothing(content&) {}
void puts(content& to) { to[elsewhere] = value; }

void add_writes(std::vector<store_operation>& rows) {
  rows.push_back(
      {"Put", [](tested_store& s) { return s.home->Put({}, elsewhere, value); }, puts, {}});
  rows.push_back({"Put, synced",
                  [](tested_store& s) { return s.home->Put(synced(), elsewhere, value); },
                  puts,
                  {}});
  rows.push_back({"Delete",
                  [](tested_store& s) { return s.home->Delete({}, there); },
                  [](content& m) { m.erase(there); },
                  {}});
  rows.push_back({"Write, synced",
                  [](tested_store& s) {
                    db::WriteBatch batch;
                    batch.Put(elsewhere, value);
                    batch.Delete(there);
                    return s.home->Write(synced(), &batch);
                  },
                  [](content& m) {
                    m[elsewhere] = value;
                    m.erase(there);
                  },
                  {}});
}

void add_reads(std::vector<store_operation>& rows) {
  rows.push_back({"Get",
                  [](tested_store& s) {
                    std::string got;
                    return s.home->Get({}, there, &got);
                  },
                  nothing,
                  {}});
  rows.push_back({"iterate",
                  [](tested_store& s) {
                    const std::unique_ptr<db::Iterator> at(s.home->NewIterator({}));
                    for (at->SeekToFirst(); at->Valid(); at->Next()) {
                    }
                    return at->status();
                  },
                  nothing,
                  {}});
  rows.push_back({"Get of a snapshot",
                  [](tested_store& s) {
                    db::ReadOptions then;
                    then.snapshot = s.home->GetSnapshot();
                    std::string got;
                    db::Status status;
                    try {
                      status = s.home->Get(then, there, &got);
                    } catch (const std::bad_alloc&) {
                      s.home->ReleaseSnapshot(then.snapshot);
                      throw;
                    }
                    s.home->ReleaseSnapshot(then.snapshot);
                    return status;
                  },
                  nothing,
                  {}});
}

void add_transactions(std::vector<store_operation>& rows) {
  rows.push_back({"Commit",
                  [](tested_store& s) {
                    db::Transaction change(&*s.home);
                    std::string got;
                    db::Status status = change.Get(there, &got);
                    if (!status.ok()) return status;
                    change.Put(elsewhere, value);
                    change.Delete(there);
                    bool committed = false;
                    status = change.Commit(synced(), &committed);
                    if (status.ok() && !committed) return db::Status::IOError("not committed");
                    return status;
                  },
                  [](content& m) {
                    m[elsewhere] = value;
                    m.erase(there);
                  },
                  {}});
  // Once memory is there again, the transaction is what it was, or a new one.
  rows.push_back({"Commit, and once more",
                  [](tested_store& s) {
                    std::unique_ptr<db::Transaction> change;
                    without_failures([&] {
                      change = std::make_unique<db::Transaction>(&*s.home);
                      change->Put(elsewhere, "first");
                    });
                    bool committed = false;
                    try_to([&] { change->Put(elsewhere, value); });
                    try_to([&] { (void)change->Commit({}, &committed); });
                    without_failures([&] {
                      change->Put(elsewhere, value);
                      (void)change->Commit({}, &committed);
                      change.reset();
                    });
                    return db::Status();
                  },
                  puts,
                  {}});
}

void add_the_rest(std::vector<store_operation>& rows) {
  rows.push_back({"Checkpoint", [](tested_store& s) { return db::Checkpoint(&*s.home, s.copy()); },
                  nothing,
                  [](tested_store& s, bool failed) -> std::string {
                    db::Options options = s.home.options;
                    options.create_if_missing = false;
                    const content expected = all_of(*s.home);
                    if (failed) {
                      const db::Status again = db::Checkpoint(&*s.home, s.copy());
                      if (!again.ok()) return "again: " + again.ToString();
                    }
                    db::DB* opened = nullptr;
                    const db::Status status = db::DB::Open(options, s.copy(), &opened);
                    const std::unique_ptr<db::DB> copy(opened);
                    if (!status.ok()) return status.ToString();
                    return all_of(*copy) == expected ? "" : "another copy";
                  }});
  rows.push_back({"GetProperty and the rest",
                  [](tested_store& s) {
                    std::string text;
                    (void)s.home->GetProperty("leveldb.stats", &text);
                    const db::Range all("a", "z");
                    std::uint64_t bytes = 0;
                    s.home->GetApproximateSizes(&all, 1, &bytes);
                    s.home->CompactRange(nullptr, nullptr);
                    return db::Status();
                  },
                  nothing,
                  {}});
  rows.push_back({"close and Open",
                  [](tested_store& s) {
                    s.home.close();
                    db::DB* opened = nullptr;
                    db::Status status =
                        db::DB::Open(s.home.options, s.home.more, s.home.name(), &opened);
                    delete opened;
                    return status;
                  },
                  nothing,
                  [](tested_store& s, bool) {
                    const db::Status status = s.home.open();
                    return status.ok() ? "" : status.ToString();
                  }});
}

std::vector<store_operation> operations() {
  std::vector<store_operation> rows;
  add_writes(rows);
  add_reads(rows);
  add_transactions(rows);
  add_the_rest(rows);
  return rows;
}

void expect_all_rows(place where, const std::string& name) {
  for (const store_operation& each : operations()) {
    // A store on a disk is opened in tens of milliseconds, and the rest is the same there.
    if (where == place::disk && each.name.find("synced") == std::string::npos &&
        each.name != "Commit" && each.name != "close and Open") {
      continue;
    }
    const tested_row row = in_a_child([&] { return run_row(each, where); });
    std::printf("%-34s %-26s %4u failures, %u wrong%s%s\n", name.c_str(), each.name.c_str(),
                row.injected, row.wrong, row.complaint.empty() ? "" : ": ", row.complaint.c_str());
    EXPECT_EQ(row.complaint, "") << name << ", " << each.name;
    EXPECT_GT(row.injected, 0U) << name << ", " << each.name << ": no call failed";
  }
}

TEST(DbOperationsOom, in_memory_files) { expect_all_rows(place::memory_files, "db::DB, files"); }
TEST(DbOperationsOom, of_records) { expect_all_rows(place::record_files, "db::DB, records"); }
TEST(DbOperationsOom, of_records_on_a_disk) {
  expect_all_rows(place::record_disk, "db::DB, records on a disk");
}
TEST(DbOperationsOom, on_a_disk) { expect_all_rows(place::disk, "db::DB, disk"); }
TEST(DbOperationsOom, in_ordinary_memory) {
  expect_all_rows(place::ordinary_memory, "db::DB, ordinary memory");
}

}  // namespace
}  // namespace outlast::test
