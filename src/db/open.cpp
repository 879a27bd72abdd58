// Opens, removes and repairs stores: DB::Open(), DB::OpenForReading(), DestroyDB() and RepairDB().
#include <outlast/base/error.hpp>
#include <outlast/db/comparator.hpp>
#include <outlast/db/db.hpp>
#include <outlast/db/detail/engine.hpp>
#include <outlast/db/env.hpp>
#include <src/db/db_impl.hpp>
#include <src/db/exception_status.hpp>
#include <src/db/memory_env.hpp>
#include <src/db/records/index_file.hpp>
#include <src/db/store_files.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace OUTLAST_DB_NAMESPACE {

namespace core = ::outlast::store_detail;

namespace {

int compare_by(const void* who, std::string_view a, std::string_view b) {
  return static_cast<const Comparator*>(who)->Compare(a, b);
}

core::key_order order_of(const Comparator* comparator) {
  const std::string_view name = comparator->Name();
  if (name == BytewiseComparator()->Name()) return {};
  return {comparator, &compare_by};
}

/// A store's directory, locked, and the logger of the store.
struct locked_directory {
  directory_lock lock;
  std::unique_ptr<Logger> own_logger;
  Logger* messages = nullptr;
};

/// Returns the status for an Env that maps paths to other paths.
Status not_where_it_is(const std::string& name) {
  return Status::NotSupported(name,
                              "is not at this path in the file system; a store bypasses "
                              "Options::env and requires real names");
}

/// Creates the directory for a new store, durably, if it does not exist. If the creation fails, the
/// lock of the directory reports the cause.
Status make_directory(const std::string& name, Env* env) {
  const bool is_made = env->CreateDir(name).ok();
  if (owner_of(env) != nullptr) return {};
  if (!core::is_there(name)) {
    if (is_made) static_cast<void>(env->RemoveDir(name));
    if (!is_made && !env->FileExists(name)) return {};
    return not_where_it_is(name);
  }
  if (!is_made) return {};
  return guarded([&] { core::sync_directory(name + "/.."); });
}

Status lock_directory(const std::string& name, Env* env, locked_directory& got) {
  got.lock = directory_lock(env, store_paths(name).lock);
  return got.lock.status();
}

/// Sets the logger of a store.
void begin_messages(const std::string& name, const Options& options, locked_directory& got) {
  const store_paths paths(name);
  got.messages = options.info_log;
  if (got.messages != nullptr) return;
  // there may be no earlier log
  static_cast<void>(options.env->RenameFile(paths.log, paths.old_log));
  Logger* made = nullptr;
  if (options.env->NewLogger(paths.log, &made).ok()) got.own_logger.reset(made);
  got.messages = got.own_logger.get();
}

/// Returns true if a store exists, or a repaired one that has not been renamed yet.
bool holds_store(Env* env, const store_paths& paths) {
  return env->FileExists(paths.data) || env->FileExists(paths.completed);
}

/// Returns OK if the options permit to open the existing store, or to create a new one.
Status validate_presence(const std::string& name, const Options& options) {
  const store_paths paths(name);
  if (!holds_store(options.env, paths)) {
    if (options.env->FileExists(paths.foreign)) {
      return Status::NotSupported(name,
                                  "contains a database in LevelDB's or RocksDB's format; convert "
                                  "it with `outlast db import`");
    }
    if (!options.create_if_missing) {
      return Status::InvalidArgument(name, "does not exist (create_if_missing is false)");
    }
  } else if (owner_of(options.env) == nullptr && !core::is_there(paths.data) &&
             !core::is_there(paths.completed)) {
    return not_where_it_is(name);
  } else if (options.error_if_exists) {
    return Status::InvalidArgument(name, "exists (error_if_exists is true)");
  }
  return {};
}

/// Completes or undoes interrupted calls.
void settle(const std::string& name, Env* env) {
  if (owner_of(env) != nullptr) return;
  const store_paths paths(name);
  core::settle_store(paths.data, {paths.unfinished_repair, paths.copied});
}

core::engine_kind kind_of(StoreEngine engine) {
  switch (engine) {
    case StoreEngine::kRecords: return core::engine_kind::records;
    case StoreEngine::kReplicas: return core::engine_kind::replicas;
    case StoreEngine::kAutomatic: break;
  }
  return core::engine_kind::automatic;
}

core::store_options core_options(const std::string& name, const Options& options,
                                 const StoreOptions& more) {
  core::store_options wanted;
  wanted.file = store_paths(name).data;
  wanted.any_order = options.comparator == nullptr;
  if (!wanted.any_order) {
    wanted.order = order_of(options.comparator);
    wanted.order_name = options.comparator->Name();
  }
  wanted.may_create = options.create_if_missing;
  wanted.max_unsynced_time = more.max_unsynced_time;
  wanted.capacity_bytes = more.capacity_bytes;
  wanted.asks_for_capacity = more.capacity_bytes != 0;
  wanted.replicas = more.replicas;
  wanted.kind = kind_of(more.engine);
  wanted.keeps_index = more.keep_index;
  wanted.new_index = options.paranoid_checks;
  return wanted;
}

Status validate_options(const Options& options, const StoreOptions& more) {
  if (options.comparator == nullptr || options.env == nullptr) {
    return Status::InvalidArgument("Options::comparator and Options::env must not be null");
  }
  if (more.replicas < 2 || more.replicas > 64) {
    return Status::InvalidArgument("StoreOptions::replicas is " + std::to_string(more.replicas) +
                                   "; it must be from 2 to 64");
  }
  constexpr std::size_t max_bytes = std::size_t{1} << 46;  // the address space of a process
  if (more.capacity_bytes > max_bytes / more.replicas) {
    return Status::InvalidArgument("StoreOptions::capacity_bytes is " +
                                   std::to_string(more.capacity_bytes) + "; with " +
                                   std::to_string(more.replicas) + " replicas it must be at most " +
                                   std::to_string(max_bytes / more.replicas));
  }
  if (more.max_unsynced_time.count() < 0) {
    return Status::InvalidArgument("StoreOptions::max_unsynced_time is " +
                                   std::to_string(more.max_unsynced_time.count()) +
                                   " us; it must be 0 or more");
  }
  return {};
}

/// Opens the store in the file, or in the memory of the Env.
std::unique_ptr<core::engine> open_core(const std::string& name, const Options& options,
                                        core::store_options wanted,
                                        std::shared_ptr<core::memory_file>& memory) {
  if (store_owner* const owner = owner_of(options.env)) {
    memory = owner->store_file(wanted.file);
    if (wanted.capacity_bytes == 0) wanted.capacity_bytes = std::size_t{1} << 30;
    return core::open_memory_store(wanted, *memory);
  }
  if (wanted.capacity_bytes == 0) wanted.capacity_bytes = core::capacity_for(name);
  return core::open_store(wanted, core::medium_of(name));
}

/// Creates a DB around the engine that open() returns.
template <class Opening>
Status finish_opening(const std::string& name, const Options& options, locked_directory& directory,
                      std::shared_ptr<core::memory_file>& memory, DB** dbptr, Opening&& open) {
  Logger* const messages = directory.messages;
  Status status;
  const Status thrown = guarded([&] {
    std::unique_ptr<core::engine> in = open();
    if (options.paranoid_checks) {
      if (const std::string wrong = in->check(); !wrong.empty()) {
        status = Status::Corruption(store_paths(name).data, wrong);
        static_cast<void>(guarded([&] { in->close(); }));  // it stays as it was found
        return;
      }
    }
    *dbptr = new db_impl(name, options, std::move(directory.lock), std::move(directory.own_logger),
                         messages, std::move(memory), std::move(in));
  });
  if (!thrown.ok()) status = thrown;
  if (!status.ok()) Log(messages, "%s does not open: %s", name.c_str(), status.ToString().c_str());
  return status;
}

/// Writes the result of a repair to the logger.
void log_repair(Logger* to, const std::string& name, const Status& status,
                const core::repair_report& report) {
  const auto number = [](std::uint64_t of) { return static_cast<unsigned long long>(of); };
  Log(to, "%s: %s; %llu keys kept%s%s", name.c_str(),
      status.ok() ? "repaired" : status.ToString().c_str(), number(report.found.keys),
      report.was_wrong.empty() ? "" : "; it was: ", report.was_wrong.c_str());
  for (const std::string& each : report.left_out) Log(to, "%s: %s", name.c_str(), each.c_str());
  if (report.found.damaged_values != 0) {
    Log(to, "%s: %llu keys lost, whose values do not match their checksums", name.c_str(),
        number(report.found.damaged_values));
  }
  if (report.found.missing_keys != 0) {
    Log(to, "%s: %llu keys lost, which could not be found", name.c_str(),
        number(report.found.missing_keys));
  }
  if (report.kept.empty()) return;
  Log(to, "%s: the original files are in %s; remove them when no data are missing", name.c_str(),
      report.kept.c_str());
}

/// Returns true if a directory without data contains only remainders of a store or of its removal.
bool is_left_of_store(const std::vector<std::string>& there) {
  const store_paths known("");
  const auto is = [](const std::string& name, const std::string& path) {
    return "/" + name == path;
  };
  const bool was_locked = std::any_of(
      there.begin(), there.end(), [&](const std::string& name) { return is(name, known.lock); });
  return was_locked && std::all_of(there.begin(), there.end(), [&](const std::string& name) {
           return name == "." || name == ".." || is(name, known.lock) || is(name, known.log) ||
                  is(name, known.old_log) || is(name, core::log_of(known.data)) ||
                  is(name, known.unfinished_repair) ||
                  is(name, core::log_of(known.unfinished_repair)) || is(name, known.copied) ||
                  is(name, core::log_of(known.copied)) || is(name, known.lost) ||
                  is(name, core::records::index_file::name_beside(known.data)) ||
                  core::is_unfinished_file(name);
         });
}

bool holds_nothing(const std::vector<std::string>& there) {
  return std::all_of(there.begin(), there.end(),
                     [](const std::string& each) { return each == "." || each == ".."; });
}

}  // namespace

Status DB::Open(const Options& options, const std::string& name, DB** dbptr) {
  return Open(options, StoreOptions(), name, dbptr);
}

Status DB::Open(const Options& options, const StoreOptions& more, const std::string& name,
                DB** dbptr) {
  *dbptr = nullptr;
  Status status = validate_options(options, more);
  if (!status.ok()) return status;
  status = validate_presence(name, options);  // before the directory is created
  if (!status.ok()) return status;
  if (options.create_if_missing) status = make_directory(name, options.env);
  if (!status.ok()) return status;
  locked_directory directory;
  status = lock_directory(name, options.env, directory);
  if (!status.ok()) return status;
  status = validate_presence(name, options);  // another process may have created it before the lock
  if (!status.ok()) return status;
  begin_messages(name, options, directory);
  std::shared_ptr<core::memory_file> memory;
  return finish_opening(name, options, directory, memory, dbptr, [&] {
    settle(name, options.env);
    return open_core(name, options, core_options(name, options, more), memory);
  });
}

Status DB::OpenForReading(const Options& options, const std::string& name, DB** dbptr) {
  *dbptr = nullptr;
  if (options.env == nullptr) return Status::InvalidArgument("Options::env must not be null");
  if (owner_of(options.env) != nullptr) {
    return Status::NotSupported(
        name, "the store is in ordinary memory; it cannot be opened for reading only");
  }
  Options existing = options;
  existing.create_if_missing = false;
  existing.error_if_exists = false;
  Status status = validate_presence(name, existing);
  if (!status.ok()) return status;
  locked_directory directory;
  status = lock_directory(name, options.env, directory);
  if (!status.ok()) return status;
  directory.messages = options.info_log;
  std::shared_ptr<core::memory_file> none;
  return finish_opening(name, existing, directory, none, dbptr, [&] {
    const store_paths paths(name);
    if (core::is_there(paths.lost) || !core::is_there(paths.data)) settle(name, options.env);
    return core::open_to_read(core_options(name, existing, StoreOptions()), core::medium_of(name),
                              options.paranoid_checks);
  });
}

Status DestroyDB(const std::string& name, const Options& options) {
  Env* const env = options.env;
  if (env == nullptr) return Status::InvalidArgument("Options::env must not be null");
  std::vector<std::string> there;
  if (const Status listed = env->GetChildren(name, &there); !listed.ok()) {
    return listed.IsNotFound() ? Status() : listed;
  }
  const store_paths paths(name);
  if (!holds_store(env, paths)) {
    if (env->FileExists(paths.foreign)) {
      return Status::NotSupported(
          name, "contains a database in LevelDB's or RocksDB's format; nothing was removed");
    }
    if (holds_nothing(there))
      static_cast<void>(env->RemoveDir(name));  // the remainder of an interrupted call
    if (!is_left_of_store(there)) return {};
  }
  Status status;
  {
    const directory_lock lock(env, paths.lock);
    if (!lock.status().ok()) return lock.status();
    // The data are last: while they exist, another call continues the removal, and no log is ever
    // next to the data of another store.
    std::vector<std::string> files;
    if (owner_of(env) == nullptr) {
      status = guarded([&] { files = core::list_kept_files(paths.data); });
      core::records::index_file::remove_of(paths.data);
    }
    for (const std::string& each : there) {
      if (core::is_unfinished_file(each)) files.push_back(name + "/" + each);
    }
    for (const std::string& file :
         {paths.lost, core::log_of(paths.data), paths.unfinished_repair,
          core::log_of(paths.unfinished_repair), paths.copied, core::log_of(paths.copied),
          core::records::index_file::name_beside(paths.data), paths.log, paths.old_log,
          paths.completed, paths.data}) {
      files.push_back(file);
    }
    for (const std::string& file : files) {
      if (!env->FileExists(file)) continue;
      const bool is_folder = file == paths.lost;
      const Status removed = is_folder ? env->RemoveDir(file) : env->RemoveFile(file);
      if (status.ok() && !is_folder) status = removed;  // other files may be in the directory
    }
  }
  // Without the lock file, another call does not recognize the remainder of a store.
  if (!status.ok()) return status;
  const Status unlocked = env->RemoveFile(paths.lock);  // it may be another kind of file
  if (!unlocked.ok() && env->FileExists(paths.lock)) return unlocked;
  const Status removed = env->RemoveDir(name);  // other files may be in it
  const bool is_listed = env->GetChildren(name, &there).ok();
  if (status.ok() && !removed.ok() && is_listed && holds_nothing(there)) return removed;
  return status;
}

Status ConvertDB(const std::string& name, const Options& options, const StoreOptions& more,
                 uint64_t* keys) {
  if (Status status = validate_options(options, more); !status.ok()) return status;
  if (more.engine == StoreEngine::kAutomatic) {
    return Status::InvalidArgument("StoreOptions::engine must be the engine of the new store");
  }
  if (owner_of(options.env) != nullptr) {
    return Status::NotSupported(name, "the store is in ordinary memory; copy its keys");
  }
  const store_paths paths(name);
  if (!holds_store(options.env, paths)) {
    return Status::InvalidArgument(name, "contains no store to convert");
  }
  locked_directory directory;
  Status status = lock_directory(name, options.env, directory);
  if (!status.ok()) return status;
  begin_messages(name, options, directory);
  std::uint64_t moved = 0;
  status = guarded([&] {
    core::store_options wanted = core_options(name, options, more);
    if (wanted.capacity_bytes == 0) wanted.capacity_bytes = core::capacity_for(name);
    moved = core::convert_store(wanted, core::medium_of(name), paths.unfinished_repair);
  });
  Log(directory.messages, "%s: moved to another engine: %s; %llu keys", name.c_str(),
      status.ToString().c_str(), static_cast<unsigned long long>(moved));
  if (keys != nullptr) *keys = moved;
  return status;
}

Status RepairDB(const std::string& dbname, const Options& options) {
  if (options.env == nullptr) return Status::InvalidArgument("Options::env must not be null");
  if (owner_of(options.env) != nullptr) return {};  // a store in memory cannot be damaged
  const store_paths paths(dbname);
  if (!holds_store(options.env, paths)) {
    return Status::InvalidArgument(dbname, "contains no store to repair");
  }
  if (options.comparator == nullptr) {
    return Status::InvalidArgument(
        "Options::comparator must not be null; a repair requires the comparator of the store");
  }
  locked_directory directory;
  Status status = lock_directory(dbname, options.env, directory);
  if (!status.ok()) return status;
  begin_messages(dbname, options, directory);
  core::repair_report report;
  status = guarded([&] {
    core::store_options wanted = core_options(dbname, options, StoreOptions());
    wanted.may_create = false;
    report = core::repair_store(wanted, core::medium_of(dbname), paths.unfinished_repair);
  });
  log_repair(directory.messages, dbname, status, report);
  return status;
}

}  // namespace OUTLAST_DB_NAMESPACE
