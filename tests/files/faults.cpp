#include <tests/files/faults.hpp>

#include <algorithm>
#include <cerrno>
#include <map>

namespace outlast::test::files {
namespace {

/// Errors that the system documents for a call, the likeliest first. None: its result has no
/// meaning that could be acted upon.
const std::vector<int>& errors_of(const std::string& name) {
  static const std::map<std::string, std::vector<int>> all = {
      {"access", {EACCES, EIO}},
      {"close", {EIO}},
      {"fallocate", {ENOSPC, EIO, EFBIG}},
      {"fallocate hole", {EIO}},
      {"fchmod", {EPERM, EIO}},
      {"fchown", {EPERM, EIO}},
      {"fclose", {EIO}},
      {"fcntl lock", {ENOLCK, EAGAIN}},
      {"fcntl unlock", {ENOLCK}},
      {"fdatasync", {EIO, ENOSPC}},
      {"flock", {ENOLCK, EWOULDBLOCK}},
      {"flock unlock", {ENOLCK}},
      {"fopen", {ENOSPC, EMFILE}},
      {"fstat", {EIO}},
      {"fstatfs", {EIO}},
      {"fsync", {EIO, ENOSPC}},
      {"fsync directory", {EIO}},
      {"ftruncate", {EIO, EFBIG}},
      {"link", {EIO, ENOSPC}},
      {"linkat", {EIO, ENOSPC, EACCES}},
      {"linkat unnamed", {EIO, ENOSPC, EACCES}},
      {"lseek", {EIO}},
      {"mkdir", {ENOSPC, EACCES}},
      {"mmap", {ENOMEM}},
      {"msync", {EIO}},
      {"open", {EACCES, EMFILE, EIO}},
      {"open directory", {EACCES, EMFILE}},
      {"open or create", {EACCES, ENOSPC, EMFILE}},
      {"open past the cache", {EIO, EMFILE}},
      {"open unnamed", {EACCES, ENOSPC, EMFILE}},
      {"opendir", {EACCES, EMFILE}},
      {"posix_fadvise", {EIO}},
      {"pread", {EIO}},
      {"pwrite", {EIO, ENOSPC}},
      {"read", {EIO}},
      {"readlink", {EACCES, EIO}},
      {"rename", {EIO, EACCES}},
      {"renameat2", {EIO, EACCES}},
      {"rmdir", {EIO}},
      {"stat", {EIO}},
      {"statfs", {EIO}},
      {"statvfs", {EIO}},
      {"statx", {EIO}},
      {"unlink", {EIO, EACCES}},
      {"unlinkat", {EIO, EACCES}},
      {"write", {EIO, ENOSPC}},
  };
  static const std::vector<int> none;
  const auto found = all.find(name);
  return found == all.end() ? none : found->second;
}

/// Errors of systems that cannot do it at all, where there is another way.
const std::vector<int>& refusals_of(const std::string& name) {
  static const std::map<std::string, std::vector<int>> all = {
      {"fallocate", {EOPNOTSUPP, ENOSYS}}, {"fallocate hole", {EOPNOTSUPP}},
      {"fsync directory", {EINVAL}},       {"linkat unnamed", {ENOENT}},  // without /proc
      {"open past the cache", {EINVAL}},   {"open unnamed", {EOPNOTSUPP, EISDIR, EINVAL}},
      {"posix_fadvise", {EINVAL}},         {"renameat2", {EINVAL, ENOSYS}},
  };
  static const std::vector<int> none;
  const auto found = all.find(name);
  return found == all.end() ? none : found->second;
}

bool is_one_of(const std::string& name, std::initializer_list<const char*> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool moves_bytes(const std::string& name) {
  return is_one_of(name, {"pread", "pwrite", "read", "write"});
}
bool is_sync(const std::string& name) {
  return is_one_of(name, {"fsync", "fdatasync", "msync", "fsync directory"});
}
/// A signal's handler may end these with EINTR. Moves of bytes and allocations are made again; of
/// others the error is reported.
bool is_interruptible(const std::string& name) {
  return moves_bytes(name) || is_sync(name) ||
         is_one_of(name, {"fallocate", "ftruncate", "open", "open or create", "open unnamed",
                          "flock", "fopen", "statfs", "statvfs", "fstatfs"});
}

choice failing(const recorded_call& call, const std::vector<int>& errors, bool thoroughly) {
  choice made;
  for (const int each : errors) {
    made.faults.push_back({call.id, action::fail, each});
    if (!thoroughly) break;
    made.faults.push_back({call.id, action::fail, each, true});
  }
  return made;
}

choice one(const recorded_call& call, action what, bool must_succeed = false) {
  choice made;
  made.faults.push_back({call.id, what});
  made.must_succeed = must_succeed;
  return made;
}

choice none(char letter) {
  choice made;
  made.letter = letter;
  return made;
}

}  // namespace

std::string_view name_of(column which) noexcept {
  switch (which) {
    case column::fails: return "fails";
    case column::interrupted: return "EINTR";
    case column::unsupported: return "lacks";
    case column::cut_short: return "short";
    case column::killed_before: return "before";
    case column::killed_after: return "after";
    case column::reordered: return "reorder";
    case column::moved: return "moved";
  }
  return "";
}

const std::vector<reason>& all_reasons() {
  static const std::vector<reason> all = {
      {'u', "nothing can be done about its failure: the caller does not look at it"},
      {'i', "no signal interrupts it"},
      {'w', "there is no other way, and no system lacks it"},
      {'f', "a system that lacks it lacks it from the first such call on: in that row"},
      {'b', "it moves no bytes that could be fewer"},
      {'c', "it changes nothing: as killed before it"},
      {'d', "it changes neither names nor bytes of files, so nothing comes before or after it"},
      {'m', "the file system is in memory: a power cut takes all of it"},
      {'h', "a hole is made in unused space"},
      {'n',
       "the operation finds its files by their names: they are in the directory that is there"},
  };
  return all;
}

choice faults_of(const recorded_call& call, column which, const circumstances& when) {
  const std::string& name = call.id.name;
  switch (which) {
    case column::fails: {
      if (errors_of(name).empty()) return none('u');
      choice made = failing(call, errors_of(name), when.thoroughly);
      made.must_not_succeed = is_sync(name);
      return made;
    }
    case column::interrupted: {
      if (!is_interruptible(name)) return none('i');
      choice made = failing(call, {EINTR}, false);
      made.must_succeed = moves_bytes(name) || name == "fallocate";
      return made;
    }
    case column::unsupported: {
      if (refusals_of(name).empty()) return none('w');
      if (!when.is_first) return none('f');
      choice made;
      for (const int each : refusals_of(name)) {
        made.faults.push_back({call.id, action::fail, each, true, true});
      }
      made.must_succeed = true;
      return made;
    }
    case column::cut_short:
      return moves_bytes(name) ? one(call, action::cut_short, true) : none('b');
    case column::killed_before: return one(call, action::kill_before);
    case column::killed_after:
      return call.changes == effect::none && name != "msync" ? none('c')
                                                             : one(call, action::kill_after);
    case column::moved: return when.holds_files ? one(call, action::move) : none('n');
    case column::reordered: break;
  }
  if (name == "fallocate hole") return none('h');
  if (call.changes == effect::none) return none('d');
  if (!when.loses_power) return none('m');
  return one(call, action::reorder);
}

}  // namespace outlast::test::files
