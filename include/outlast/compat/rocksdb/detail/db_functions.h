// The longer functions of rocksdb::DB, for db.h.
#pragma once

#include "../db.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ROCKSDB_NAMESPACE {

inline ManagedSnapshot::ManagedSnapshot(DB* db) : db_(db), of_(db->GetSnapshot()) {}
inline ManagedSnapshot::~ManagedSnapshot() { db_->ReleaseSnapshot(of_); }

inline DB::SizeApproximationFlags operator|(DB::SizeApproximationFlags a,
                                            DB::SizeApproximationFlags b) {
  return static_cast<DB::SizeApproximationFlags>(static_cast<std::uint8_t>(a) |
                                                 static_cast<std::uint8_t>(b));
}
inline DB::SizeApproximationFlags operator&(DB::SizeApproximationFlags a,
                                            DB::SizeApproximationFlags b) {
  return static_cast<DB::SizeApproximationFlags>(static_cast<std::uint8_t>(a) &
                                                 static_cast<std::uint8_t>(b));
}

inline Status DB::validate(const Options& options) {
  if (options.comparator == nullptr)
    return Status::InvalidArgument("Options::comparator must not be null");
  if (options.env == nullptr || options.env->store_env() == nullptr) {
    return Status::NotSupported("Options::env must be Env::Default() or an Env of NewMemEnv()");
  }
  if (options.compaction_filter != nullptr || options.compaction_filter_factory != nullptr) {
    return Status::NotSupported(
        "the store has no compactions; its options must not have a compaction filter");
  }
  if (options.compaction_style == kCompactionStyleFIFO) {
    return Status::NotSupported(
        "the store never removes data by itself; use a style other than kCompactionStyleFIFO");
  }
  return {};
}

inline Status DB::open(const Options& options, const std::string& name, bool reads_only,
                       DB** dbptr) {
  *dbptr = nullptr;
  const Status judged = validate(options);
  if (!judged.ok()) return judged;
  if (name.empty()) return Status::PathNotFound("the name of the store is empty");
  auto made = std::unique_ptr<DB>(new DB);
  made->name_ = name;
  made->options_ = options;
  made->reads_only_ = reads_only;
  made->counts_ = options.statistics.get();
  made->family_ = std::make_unique<outlast_detail::default_family>(options);
  made->store_order_ = std::make_unique<outlast_detail::order>(options.comparator);
  outlast::db::Options how;
  how.create_if_missing = options.create_if_missing;
  how.error_if_exists = options.error_if_exists;
  how.paranoid_checks = options.paranoid_checks;
  how.comparator = made->store_order_.get();
  how.env = options.env->store_env();
  if (options.info_log != nullptr) {
    made->store_logger_ = std::make_unique<outlast_detail::store_logger>(options.info_log);
    how.info_log = made->store_logger_.get();
  }
  outlast::db::DB* opened = nullptr;
  const outlast::db::Status status = reads_only
                                         ? outlast::db::DB::OpenForReading(how, name, &opened)
                                         : outlast::db::DB::Open(how, options.store, name, &opened);
  made->of_.reset(opened);
  if (status.ok()) *dbptr = made.release();
  const bool is_missing = reads_only && status.IsInvalidArgument() && !is_there(how.env, name);
  if (is_missing || status.IsNotFound()) return Status::PathNotFound(name, status.ToString());
  return status;
}

inline Status DB::open(const DBOptions& options, const std::string& name,
                       const std::vector<ColumnFamilyDescriptor>& families,
                       std::vector<ColumnFamilyHandle*>* handles, bool reads_only, DB** dbptr) {
  *dbptr = nullptr;
  handles->clear();
  const ColumnFamilyDescriptor* found = nullptr;
  for (const ColumnFamilyDescriptor& each : families) {
    if (each.name != kDefaultColumnFamilyName) return no_other_family(each.name);
    found = &each;
  }
  if (found == nullptr) return Status::InvalidArgument("the default column family is missing");
  Status status = open(Options(options, found->options), name, reads_only, dbptr);
  if (!status.ok()) return status;
  for (std::size_t i = 0; i < families.size(); ++i) {
    handles->push_back(new outlast_detail::default_family(found->options));
  }
  return status;
}

inline Status DB::ListColumnFamilies(const DBOptions& options, const std::string& name,
                                     std::vector<std::string>* families) {
  families->clear();
  outlast::db::Env* const env = options.env->store_env();
  if (env == nullptr || !is_there(env, name)) return Status::PathNotFound("no store", name);
  families->push_back(kDefaultColumnFamilyName);
  return {};
}

inline Status DB::validate_ranges(const WriteBatch& batch) const {
  class finder final : public outlast::db::WriteBatch::RangeHandler {
   public:
    explicit finder(const Comparator& order) : order_(order) {}
    void Put(const outlast::db::Slice& /*key*/, const outlast::db::Slice& /*value*/) override {}
    void Delete(const outlast::db::Slice& /*key*/) override {}
    void DeleteRange(const outlast::db::Slice& begin, const outlast::db::Slice& end) override {
      found = found || order_.Compare(begin, end) > 0;
    }
    bool found = false;

   private:
    const Comparator& order_;
  };
  finder inverted(*options_.comparator);
  const Status status = batch.changes_.Iterate(&inverted);
  if (!status.ok() || !inverted.found) return status;
  return Status::InvalidArgument("the end of a range comes before its beginning");
}

inline Status DB::Write(const WriteOptions& options, WriteBatch* updates) {
  if (updates == nullptr) return Status::InvalidArgument("the batch is null");
  if (!updates->refused_.ok()) return updates->refused_;
  if (updates->may_have_ranges_) {
    const Status status = validate_ranges(*updates);
    if (!status.ok()) return status;
  }
  std::size_t bytes = 0;
  if (counts_ != nullptr) {
    WriteBatch::counter all;
    static_cast<void>(updates->changes_.Iterate(&all));
    bytes = all.bytes;
  }
  return write(options, updates->Count(), bytes,
               [&](const auto& how) { return of_->Write(how, &updates->changes_); });
}

inline Status DB::get_one_of_many(const ReadOptions& options, const Slice& key,
                                  std::string* value) {
  if (of_ == nullptr) return closed();
  if (options.timestamp != nullptr) return no_timestamps();
  const Status status = of_->Get(store_options(options), key, value);
  if (counts_ == nullptr) return status;
  counts_->recordTick(NUMBER_MULTIGET_KEYS_READ);
  if (!status.ok()) return status;
  counts_->recordTick(NUMBER_MULTIGET_KEYS_FOUND);
  counts_->recordTick(NUMBER_MULTIGET_BYTES_READ, value->size());
  return status;
}

inline std::vector<Status> DB::MultiGet(const ReadOptions& options, const std::vector<Slice>& keys,
                                        std::vector<std::string>* values) {
  ReadOptions then = options;
  if (options.snapshot == nullptr) then.snapshot = GetSnapshot();
  if (counts_ != nullptr) counts_->recordTick(NUMBER_MULTIGET_CALLS);
  std::vector<Status> all;
  values->resize(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    all.push_back(get_one_of_many(then, keys[i], &(*values)[i]));
  }
  if (options.snapshot == nullptr) ReleaseSnapshot(then.snapshot);
  return all;
}

inline void DB::MultiGet(const ReadOptions& options, ColumnFamilyHandle* family, std::size_t number,
                         const Slice* keys, PinnableSlice* values, Status* statuses,
                         bool /*sorted_input*/) {
  ReadOptions then = options;
  if (options.snapshot == nullptr) then.snapshot = GetSnapshot();
  if (counts_ != nullptr) counts_->recordTick(NUMBER_MULTIGET_CALLS);
  for (std::size_t i = 0; i < number; ++i) {
    values[i].Reset();
    statuses[i] =
        family == nullptr ? no_family() : get_one_of_many(then, keys[i], values[i].GetSelf());
    if (statuses[i].ok()) values[i].PinSelf();
  }
  if (options.snapshot == nullptr) ReleaseSnapshot(then.snapshot);
}

inline const Snapshot* DB::GetSnapshot() {
  if (of_ == nullptr) return nullptr;
  const SequenceNumber number = GetLatestSequenceNumber();
  auto* const made = new outlast_detail::kept_snapshot(of_->GetSnapshot(), number);
  snapshots_.add(made);
  return made;
}

inline void DB::ReleaseSnapshot(const Snapshot* snapshot) {
  if (snapshot == nullptr) return;
  const auto* const released = static_cast<const outlast_detail::kept_snapshot*>(snapshot);
  snapshots_.remove(released);
  if (of_ != nullptr) of_->ReleaseSnapshot(released->of());
  delete released;
}

inline bool DB::GetProperty(const Slice& property, std::string* value) {
  constexpr std::string_view prefix = "rocksdb.";
  constexpr std::string_view of_level = "num-files-at-level";
  if (of_ == nullptr) return false;
  std::string_view name = property.view();
  if (name.substr(0, prefix.size()) != prefix) return of_->GetProperty(property, value);
  name.remove_prefix(prefix.size());
  if (name.substr(0, of_level.size()) == of_level) {
    return of_->GetProperty(std::string("leveldb.").append(name), value);
  }
  const outlast_detail::property found = outlast_detail::property_of(name);
  switch (found.from) {
    case outlast_detail::source::text: return of_->GetProperty(found.of_store, value);
    case outlast_detail::source::statistics:
      if (counts_ == nullptr) return false;
      *value = counts_->ToString();
      return true;
    default: break;
  }
  std::uint64_t number = 0;
  if (!GetIntProperty(property, &number)) return false;
  *value = std::to_string(number);
  return true;
}

inline bool DB::GetIntProperty(const Slice& property, std::uint64_t* value) {
  constexpr std::string_view prefix = "rocksdb.";
  if (of_ == nullptr) return false;
  std::string_view name = property.view();
  if (name.substr(0, prefix.size()) == prefix) {
    const outlast_detail::property found = outlast_detail::property_of(name.substr(prefix.size()));
    const auto is = [&](std::uint64_t number) {
      *value = number;
      return true;
    };
    switch (found.from) {
      case outlast_detail::source::store: name = found.of_store; break;
      case outlast_detail::source::nothing: return is(0);
      case outlast_detail::source::snapshots: return is(snapshots_.count());
      case outlast_detail::source::oldest_snapshot_time: return is(snapshots_.oldest_time());
      case outlast_detail::source::oldest_snapshot_number: return is(snapshots_.oldest_number());
      default: return false;
    }
  }
  std::string text;
  if (!of_->GetProperty(name, &text)) return false;
  std::uint64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size()) return false;
  *value = number;
  return true;
}

inline Status DB::GetApproximateSizes(const Range* range, int n, std::uint64_t* sizes,
                                      SizeApproximationFlags flags) {
  if (of_ == nullptr) return closed();
  if (flags == SizeApproximationFlags::NONE) {
    return Status::InvalidArgument(
        "the options must include the size of files, of memory, or of both");
  }
  for (int i = 0; i < n; ++i) {
    const outlast::db::Range each(range[i].start, range[i].limit);
    of_->GetApproximateSizes(&each, 1, &sizes[i]);
  }
  return {};
}

inline Status DB::VerifyChecksum(const ReadOptions& options) {
  ReadOptions how = options;
  how.verify_checksums = true;
  const std::unique_ptr<Iterator> at(NewIterator(how));
  at->SeekToFirst();
  while (at->Valid()) at->Next();
  return at->status();
}

/// Removes the files of the store `name`, and its directory if it is then empty.
inline Status DestroyDB(const std::string& name, const Options& options,
                        const std::vector<ColumnFamilyDescriptor>& /*families*/ = {}) {
  outlast::db::Options how;
  if (options.env != nullptr && options.env->store_env() != nullptr) {
    how.env = options.env->store_env();
  }
  return outlast::db::DestroyDB(name, how);
}
/// Repairs a damaged store: keeps all data that can be read.
inline Status RepairDB(const std::string& name, const Options& options) {
  const outlast_detail::order order(options.comparator);
  outlast::db::Options how;
  how.comparator = &order;
  if (options.env != nullptr && options.env->store_env() != nullptr) {
    how.env = options.env->store_env();
  }
  return outlast::db::RepairDB(name, how);
}
inline Status RepairDB(const std::string& name, const DBOptions& options,
                       const std::vector<ColumnFamilyDescriptor>& families) {
  return RepairDB(name, families.empty() ? Options(options, ColumnFamilyOptions())
                                         : Options(options, families.front().options));
}

}  // namespace ROCKSDB_NAMESPACE
