// db::Checkpoint(): copies an open store into an empty directory.
#include <outlast/db/checkpoint.hpp>
#include <outlast/db/db.hpp>
#include <outlast/db/detail/engine.hpp>
#include <outlast/db/env.hpp>
#include <src/db/db_impl.hpp>
#include <src/db/exception_status.hpp>
#include <src/db/memory_env.hpp>
#include <src/db/store_files.hpp>

#include <memory>
#include <string>
#include <vector>

namespace OUTLAST_DB_NAMESPACE {

namespace core = ::outlast::store_detail;

namespace {

/// Returns OK if the directory contains only the remainders of an interrupted checkpoint and of an
/// attempt to open it.
Status validate_emptiness(Env* env, const std::string& directory) {
  std::vector<std::string> there;
  Status status = env->GetChildren(directory, &there);
  if (!status.ok()) return status;
  const store_paths known("");
  for (const std::string& name : there) {
    const std::string path = "/" + name;
    const bool is_left = name == "." || name == ".." || path == known.lock || path == known.log ||
                         path == known.old_log || path == known.copied ||
                         path == core::log_of(known.copied) || core::is_unfinished_file(name);
    if (!is_left) {
      return Status::InvalidArgument(
          directory, "a backup requires an empty directory; this one contains '" + name + "'");
    }
  }
  return {};
}

/// Creates a closed copy of `from` in the ordinary memory of an Env.
void copy_in_memory(core::engine& from, store_owner& owner, const core::store_options& wanted,
                    Env& env, const core::progress_callback& progress) {
  std::shared_ptr<core::memory_file> memory;
  static_cast<void>(core::copy_store(
      from, wanted,
      [&](const core::store_options& made) {
        memory = owner.store_file(made.file);
        return core::open_memory_store(made, *memory);
      },
      [&] { static_cast<void>(env.RemoveFile(wanted.file)); }, progress));
}

/// Creates a closed copy of `from` on a file system. The copy is renamed when it is complete.
void copy_in_files(core::engine& from, core::store_options wanted, const store_paths& paths,
                   core::medium on, const core::progress_callback& progress) {
  wanted.file = paths.copied;
  core::settle_store(paths.data, {paths.copied});
  static_cast<void>(core::copy_store(
      from, wanted, [&](const core::store_options& made) { return core::open_store(made, on); },
      [&] { core::remove_store_files(paths.copied); }, progress));
  try {
    core::name_store(paths.data, paths.copied);
  } catch (...) {
    core::remove_store_files(paths.copied);
    core::remove_store_files(paths.data);  // it may be renamed already
    throw;
  }
}

Status copy_to(db_impl& from, const std::string& directory,
               const core::progress_callback& progress) {
  Env* const env = from.env();
  const store_paths paths(directory);
  const directory_lock lock(env, paths.lock);
  if (!lock.status().ok()) return lock.status();
  // another process may have filled it before the lock
  Status status = validate_emptiness(env, directory);
  if (!status.ok()) return status;
  core::store_options wanted = from.in().shape();
  wanted.may_create = true;
  store_owner* const owner = owner_of(env);
  if (owner == nullptr) {
    return guarded(
        [&] { copy_in_files(from.in(), wanted, paths, core::medium_of(directory), progress); });
  }
  wanted.file = paths.data;
  try {
    copy_in_memory(from.in(), *owner, wanted, *env, progress);
    return {};
  } catch (...) {
    static_cast<void>(env->RemoveFile(paths.data));
    return status_of_current();
  }
}

}  // namespace

Status Checkpoint(DB* db, const std::string& directory, const core::progress_callback& progress) {
  db_impl* const opened = opened_of(db);
  if (opened == nullptr) return not_opened("Checkpoint()");
  db_impl& from = *opened;
  Env* const env = from.env();
  const store_paths paths(directory);  // nothing allocates after the copy has its name
  const std::string parent = directory + "/..";
  const bool is_made = env->CreateDir(directory).ok();
  Status status = is_made ? Status() : validate_emptiness(env, directory);
  if (!status.ok()) return status;
  status = copy_to(from, directory, progress);
  if (status.ok() && is_made && owner_of(env) == nullptr) {
    status = guarded([&] { core::sync_directory(parent); });
    if (!status.ok()) static_cast<void>(guarded([&] { core::remove_store_files(paths.data); }));
  }
  if (!status.ok() && is_made) {
    static_cast<void>(env->RemoveFile(paths.lock));
    static_cast<void>(env->RemoveDir(directory));
  }
  return status;
}

}  // namespace OUTLAST_DB_NAMESPACE
