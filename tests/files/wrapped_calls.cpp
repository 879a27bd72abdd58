// What the linker puts in the place of the system's functions.
#include <tests/files/call_log.hpp>
#include <tests/files/system_calls.hpp>

#include <cerrno>
#include <cstdarg>
#include <string_view>
#include <type_traits>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace outlast::test::files {
namespace {

call_log& calls() { return call_log::of_process(); }

/// The role of what a call concerns, if it may meet a fault.
template <class What>
std::optional<std::string> tried_role_of(What what) {
  return calls().is_armed() ? calls().role_of(what) : std::nullopt;
}

/// The same of a name in an open directory.
std::optional<std::string> tried_role_in(int directory, const char* name) {
  const auto role = tried_role_of(directory);
  if (!role) return role;
  return *role == "directory" ? name : *role + "/" + name;
}

std::string path_in(int directory, const char* name) {
  char path[4096] = {};
  const std::string self = "/proc/self/fd/" + std::to_string(directory);
  const ssize_t length = __real_readlink(self.c_str(), path, sizeof path - 1);
  return std::string(path, length < 0 ? 0 : static_cast<std::size_t>(length)) + "/" + name;
}

template <class Result>
Result failure() {
  if constexpr (std::is_same_v<Result, void*>) return MAP_FAILED;
  if constexpr (std::is_pointer_v<Result>) return nullptr;
  if constexpr (std::is_integral_v<Result>) return -1;
}

/// Makes the call, or what was planned instead.
template <class Real>
auto around(const arriving_call& call, Real&& real) {
  using result_type = decltype(real(false));
  call_log::verdict met = calls().arrive(call);
  if (met.error_number != 0) {
    calls().leave(call, met, false);
    errno = met.error_number;
    return failure<result_type>();
  }
  const result_type result = real(met.cut_short);
  calls().leave(call, met, result != failure<result_type>());
  return result;
}

const char* name_of_open(int flags) {
  if ((flags & O_TMPFILE) == O_TMPFILE) return "open unnamed";
  if ((flags & O_DIRECTORY) != 0) return "open directory";
  if ((flags & O_DIRECT) != 0) return "open past the cache";
  if ((flags & O_CREAT) != 0) return "open or create";
  return "open";
}

/// Half of it, in units of a device.
std::size_t part_of(std::size_t size) {
  const std::size_t half = size / 2;
  return half >= 512 ? half / 512 * 512 : half == 0 ? size : half;
}

bool is_directory(int descriptor) {
  struct stat status{};
  return __real_fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode);
}

arriving_call data_call(const char* name, const std::string& role, int descriptor,
                        std::uint64_t offset, std::size_t size) {
  return {name,         role,
          effect::data, [=] { return kept_change::of_data(descriptor, offset, size); },
          {},           identity_of(descriptor),
          offset,       size};
}

arriving_call plain(std::string name, const std::string& role) {
  return {std::move(name), role, effect::none, {}, {}, {}, 0, 0};
}

template <class Real>
auto on_descriptor(const char* name, int descriptor, Real&& real) {
  const auto role = tried_role_of(descriptor);
  if (!role) return real(false);
  return around(plain(name, *role), real);
}

template <class Real>
auto on_path(const char* name, const char* path, Real&& real) {
  const auto role = tried_role_of(path);
  if (!role) return real(false);
  return around(plain(name, *role), real);
}

int sync(const char* name, int descriptor, int (*real)(int)) {
  const auto role = tried_role_of(descriptor);
  if (!role) return real(descriptor);
  arriving_call call = plain(name, *role);
  call.syncs = identity_of(descriptor);
  return around(call, [=](bool) { return real(descriptor); });
}

int make_name(const char* name, const char* path, const std::function<int()>& real) {
  const auto role = tried_role_of(path);
  if (!role) return real();
  const std::string made = path;
  return around({name, *role, effect::names, [=] { return kept_change::of_new_name(made); }},
                [&](bool) { return real(); });
}

int move_name(const char* name, const char* from, const char* to,
              const std::function<int()>& real) {
  const auto role = tried_role_of(to);
  if (!role) return real();
  const std::string old = from;
  const std::string made = to;
  return around({name, calls().role_of(from).value_or("?") + " to " + *role, effect::names,
                 [=] { return kept_change::of_rename(old, made, calls().kept()); }},
                [&](bool) { return real(); });
}

}  // namespace
}  // namespace outlast::test::files

using namespace outlast::test::files;  // NOLINT: what follows has the linker's names

extern "C" {

int __wrap_open(const char* path, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  const bool makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  const mode_t mode = makes ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  auto role = calls().role_of(path);
  if (!role) return __real_open(path, flags, mode);
  arriving_call call = plain(name_of_open(flags), *role);
  if ((flags & O_CREAT) != 0 && !identity_of(std::string(path))) {
    call.changes = effect::names;
    call.keep = [made = std::string(path)] { return kept_change::of_new_name(made); };
  }
  const int opened = around(call, [=](bool) { return __real_open(path, flags, mode); });
  if (opened < 0) return opened;
  if ((flags & O_TMPFILE) == O_TMPFILE) *role = "unnamed in " + *role;
  calls().opened(opened, *role);
  return opened;
}

int __wrap_close(int descriptor) {
  const auto role = calls().role_of(descriptor);
  if (!role) return __real_close(descriptor);
  calls().closed(descriptor);
  bool is_closed = false;
  const int result = around(plain("close", *role), [&](bool) {
    is_closed = true;
    return __real_close(descriptor);
  });
  if (is_closed) return result;
  const int number = errno;  // a close that fails has closed
  __real_close(descriptor);
  errno = number;
  return -1;
}

FILE* __wrap_fopen(const char* path, const char* how) {
  const auto role = calls().role_of(path);
  if (!role) return __real_fopen(path, how);
  arriving_call call = plain("fopen", *role);
  if (how[0] != 'r' && !identity_of(std::string(path))) {
    call.changes = effect::names;
    call.keep = [made = std::string(path)] { return kept_change::of_new_name(made); };
  }
  FILE* const opened = around(call, [=](bool) { return __real_fopen(path, how); });
  if (opened != nullptr) calls().opened(::fileno(opened), *role);
  return opened;
}

int __wrap_fclose(FILE* file) {
  const int descriptor = ::fileno(file);
  const auto role = calls().role_of(descriptor);
  calls().closed(descriptor);
  if (!role) return __real_fclose(file);
  bool is_closed = false;
  const int result = around(plain("fclose", *role), [&](bool) {
    is_closed = true;
    return __real_fclose(file);
  });
  if (!is_closed) __real_fclose(file);
  return result;
}

ssize_t __wrap_pread(int descriptor, void* to, size_t size, off_t offset) {
  return on_descriptor("pread", descriptor, [=](bool cut) {
    return __real_pread(descriptor, to, cut ? part_of(size) : size, offset);
  });
}

ssize_t __wrap_read(int descriptor, void* to, size_t size) {
  return on_descriptor("read", descriptor, [=](bool cut) {
    return __real_read(descriptor, to, cut ? part_of(size) : size);
  });
}

ssize_t __wrap_pwrite(int descriptor, const void* from, size_t size, off_t offset) {
  const auto role = tried_role_of(descriptor);
  if (!role) return __real_pwrite(descriptor, from, size, offset);
  return around(data_call("pwrite", *role, descriptor, static_cast<std::uint64_t>(offset), size),
                [=](bool cut) {
                  return __real_pwrite(descriptor, from, cut ? part_of(size) : size, offset);
                });
}

ssize_t __wrap_write(int descriptor, const void* from, size_t size) {
  const auto role = tried_role_of(descriptor);
  if (!role) return __real_write(descriptor, from, size);
  const off_t offset = __real_lseek(descriptor, 0, SEEK_CUR);
  return around(
      data_call("write", *role, descriptor, static_cast<std::uint64_t>(offset), size),
      [=](bool cut) { return __real_write(descriptor, from, cut ? part_of(size) : size); });
}

int __wrap_ftruncate(int descriptor, off_t length) {
  const auto role = tried_role_of(descriptor);
  if (!role) return __real_ftruncate(descriptor, length);
  return around(data_call("ftruncate", *role, descriptor, static_cast<std::uint64_t>(length), 0),
                [=](bool) { return __real_ftruncate(descriptor, length); });
}

int __wrap_fallocate(int descriptor, int mode, off_t offset, off_t size) {
  const auto role = calls().role_of(descriptor);
  if (!role) return __real_fallocate(descriptor, mode, offset, size);
  // The space of a store's log, of which little is used, costs more than all else: it is promised.
  constexpr off_t much = off_t{1} << 20;
  const auto real = [=](bool) {
    return size > much ? 0 : __real_fallocate(descriptor, mode, offset, size);
  };
  if (mode != 0) return around(plain("fallocate hole", *role), real);
  const auto end = static_cast<std::uint64_t>(offset + size);
  return around(data_call("fallocate", *role, descriptor, end, 0), real);
}

int __wrap_fsync(int descriptor) {
  if (!calls().is_armed()) return __real_fsync(descriptor);
  return sync(is_directory(descriptor) ? "fsync directory" : "fsync", descriptor, &__real_fsync);
}

int __wrap_fdatasync(int descriptor) { return sync("fdatasync", descriptor, &__real_fdatasync); }

int __wrap_msync(void* address, size_t size, int flags) {
  const auto role =
      calls().is_armed() ? calls().role_of_mapping(address) : std::optional<std::string>();
  if (!role) return __real_msync(address, size, flags);
  arriving_call call = plain("msync", *role);
  call.syncs = calls().file_of_mapping(address);
  return around(call, [=](bool) { return __real_msync(address, size, flags); });
}

/// Returns whether a call asks for addresses that are in use. The caller then tries others. Which
/// addresses it tries depends on random numbers, so that the number of these calls differs between
/// repetitions.
static bool is_occupied(void* address, size_t size, int flags) {
  if ((flags & MAP_FIXED_NOREPLACE) == 0) return false;
  void* const got = __real_mmap(address, size, PROT_NONE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
                                -1, 0);
  if (got == MAP_FAILED) return errno == EEXIST;
  __real_munmap(got, size);
  return false;
}

void* __wrap_mmap(void* address, size_t size, int access, int flags, int descriptor, off_t offset) {
  const auto real = [=](bool) {
    return __real_mmap(address, size, access, flags, descriptor, offset);
  };
  const bool is_file = (flags & MAP_ANONYMOUS) == 0;
  const auto role = is_file ? calls().role_of(descriptor) : std::optional<std::string>("memory");
  if (!role) return real(false);
  if (is_occupied(address, size, flags)) return real(false);
  void* const mapped = around(plain("mmap", *role), real);
  if (mapped != MAP_FAILED) {
    calls().mapped(mapped, size, *role, is_file ? identity_of(descriptor) : std::nullopt);
  }
  return mapped;
}

int __wrap_munmap(void* address, size_t size) {
  const auto role = calls().role_of_mapping(address);
  if (!role) return __real_munmap(address, size);
  return around(plain("munmap", *role), [=](bool) { return __real_munmap(address, size); });
}

int __wrap_rename(const char* from, const char* to) {
  return move_name("rename", from, to, [=] { return __real_rename(from, to); });
}

long __wrap_syscall(long number, ...) {
  std::va_list rest;
  va_start(rest, number);
  long given[6];
  for (long& each : given) each = va_arg(rest, long);
  va_end(rest);
  const auto real = [=] {
    return __real_syscall(number, given[0], given[1], given[2], given[3], given[4], given[5]);
  };
  if (number != SYS_renameat2) return real();
  return move_name("renameat2", reinterpret_cast<const char*>(given[1]),
                   reinterpret_cast<const char*>(given[3]),
                   [&] { return static_cast<int>(real()); });
}

int __wrap_link(const char* from, const char* to) {
  return make_name("link", to, [=] { return __real_link(from, to); });
}

int __wrap_linkat(int from_at, const char* from, int to_at, const char* to, int flags) {
  const char* const name =
      std::string_view(from).starts_with("/proc/") ? "linkat unnamed" : "linkat";
  return make_name(name, to, [=] { return __real_linkat(from_at, from, to_at, to, flags); });
}

int __wrap_unlink(const char* path) {
  const auto role = tried_role_of(path);
  if (!role) return __real_unlink(path);
  const std::string gone = path;
  return around({"unlink", *role, effect::names,
                 [=] { return kept_change::of_removal(gone, calls().kept()); }},
                [=](bool) { return __real_unlink(path); });
}

int __wrap_unlinkat(int directory, const char* name, int flags) {
  const auto role = tried_role_in(directory, name);
  if (!role) return __real_unlinkat(directory, name, flags);
  const std::string gone = path_in(directory, name);
  return around({"unlinkat", *role, effect::names,
                 [=] { return kept_change::of_removal(gone, calls().kept()); }},
                [=](bool) { return __real_unlinkat(directory, name, flags); });
}

int __wrap_mkdir(const char* path, mode_t mode) {
  const auto role = tried_role_of(path);
  if (!role) return __real_mkdir(path, mode);
  const std::string made = path;
  return around(
      {"mkdir", *role, effect::names, [=] { return kept_change::of_new_directory(made); }},
      [=](bool) { return __real_mkdir(path, mode); });
}

int __wrap_rmdir(const char* path) {
  const auto role = tried_role_of(path);
  if (!role) return __real_rmdir(path);
  const std::string gone = path;
  return around(
      {"rmdir", *role, effect::names, [=] { return kept_change::of_removed_directory(gone); }},
      [=](bool) { return __real_rmdir(path); });
}

int __wrap_fchmod(int descriptor, mode_t mode) {
  return on_descriptor("fchmod", descriptor, [=](bool) { return __real_fchmod(descriptor, mode); });
}

int __wrap_fchown(int descriptor, uid_t owner, gid_t group) {
  return on_descriptor("fchown", descriptor,
                       [=](bool) { return __real_fchown(descriptor, owner, group); });
}

int __wrap_flock(int descriptor, int what) {
  return on_descriptor((what & LOCK_UN) != 0 ? "flock unlock" : "flock", descriptor,
                       [=](bool) { return __real_flock(descriptor, what); });
}

int __wrap_fcntl(int descriptor, int what, ...) {
  std::va_list rest;
  va_start(rest, what);
  void* const given = va_arg(rest, void*);
  va_end(rest);
  if (what != F_SETLK) return __real_fcntl(descriptor, what, given);
  const bool unlocks = static_cast<const struct flock*>(given)->l_type == F_UNLCK;
  return on_descriptor(unlocks ? "fcntl unlock" : "fcntl lock", descriptor,
                       [=](bool) { return __real_fcntl(descriptor, what, given); });
}

off_t __wrap_lseek(int descriptor, off_t offset, int whence) {
  return on_descriptor("lseek", descriptor,
                       [=](bool) { return __real_lseek(descriptor, offset, whence); });
}

int __wrap_posix_fadvise(int descriptor, off_t offset, off_t size, int advice) {
  const auto role = tried_role_of(descriptor);
  if (!role) return __real_posix_fadvise(descriptor, offset, size, advice);
  const int failed = around(plain("posix_fadvise", *role), [=](bool) {
    return __real_posix_fadvise(descriptor, offset, size, advice);
  });
  return failed < 0 ? errno : failed;
}

int __wrap_access(const char* path, int how) {
  if (std::string_view(path).starts_with("/proc/") && calls().has_no_proc()) {
    errno = ENOENT;
    return -1;
  }
  return on_path("access", path, [=](bool) { return __real_access(path, how); });
}

int __wrap_stat(const char* path, struct stat* status) {
  return on_path("stat", path, [=](bool) { return __real_stat(path, status); });
}

int __wrap_fstat(int descriptor, struct stat* status) {
  return on_descriptor("fstat", descriptor, [=](bool) { return __real_fstat(descriptor, status); });
}

int __wrap_statfs(const char* path, struct statfs* status) {
  return on_path("statfs", path, [=](bool) { return __real_statfs(path, status); });
}

int __wrap_fstatfs(int descriptor, struct statfs* status) {
  return on_descriptor("fstatfs", descriptor,
                       [=](bool) { return __real_fstatfs(descriptor, status); });
}

int __wrap_statvfs(const char* path, struct statvfs* status) {
  return on_path("statvfs", path, [=](bool) { return __real_statvfs(path, status); });
}

ssize_t __wrap_readlink(const char* path, char* to, size_t size) {
  return on_path("readlink", path, [=](bool) { return __real_readlink(path, to, size); });
}

int __wrap_statx(int at, const char* path, int flags, unsigned mask, struct statx* to) {
  const auto real = [=](bool) { return __real_statx(at, path, flags, mask, to); };
  if (*path == '\0') return on_descriptor("statx", at, real);
  const auto role = at == AT_FDCWD ? tried_role_of(path) : tried_role_in(at, path);
  return role ? around(plain("statx", *role), real) : real(false);
}

DIR* __wrap_opendir(const char* path) {
  return on_path("opendir", path, [=](bool) { return __real_opendir(path); });
}

}  // extern "C"
