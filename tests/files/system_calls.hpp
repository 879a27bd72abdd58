// The system's own functions, where the linker has put others under their names.
#pragma once

#include <cstddef>
#include <cstdio>

#include <dirent.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/types.h>

// The linker (--wrap) gives these names to what the system has.
extern "C" {
int __real_access(const char*, int);
int __real_close(int);
int __real_fallocate(int, int, off_t, off_t);
int __real_fchmod(int, mode_t);
int __real_fchown(int, uid_t, gid_t);
int __real_fclose(FILE*);
int __real_fcntl(int, int, ...);
int __real_fdatasync(int);
int __real_flock(int, int);
FILE* __real_fopen(const char*, const char*);
int __real_fstat(int, struct stat*);
int __real_fstatfs(int, struct statfs*);
int __real_fsync(int);
int __real_ftruncate(int, off_t);
int __real_link(const char*, const char*);
int __real_linkat(int, const char*, int, const char*, int);
off_t __real_lseek(int, off_t, int);
int __real_mkdir(const char*, mode_t);
void* __real_mmap(void*, size_t, int, int, int, off_t);
int __real_msync(void*, size_t, int);
int __real_munmap(void*, size_t);
int __real_open(const char*, int, ...);
DIR* __real_opendir(const char*);
int __real_posix_fadvise(int, off_t, off_t, int);
ssize_t __real_pread(int, void*, size_t, off_t);
ssize_t __real_pwrite(int, const void*, size_t, off_t);
ssize_t __real_read(int, void*, size_t);
ssize_t __real_readlink(const char*, char*, size_t);
int __real_rename(const char*, const char*);
int __real_rmdir(const char*);
int __real_stat(const char*, struct stat*);
int __real_statfs(const char*, struct statfs*);
int __real_statx(int, const char*, int, unsigned, struct statx*);
int __real_statvfs(const char*, struct statvfs*);
long __real_syscall(long, ...);
int __real_unlink(const char*);
int __real_unlinkat(int, const char*, int);
ssize_t __real_write(int, const void*, size_t);
}

namespace outlast::test::files::system_calls {

inline int fstat(int descriptor, struct stat* status) { return __real_fstat(descriptor, status); }
inline int ftruncate(int descriptor, off_t length) { return __real_ftruncate(descriptor, length); }
inline int link(const char* from, const char* to) { return __real_link(from, to); }
inline int mkdir(const char* path, mode_t mode) { return __real_mkdir(path, mode); }
inline int open(const char* path, int flags, mode_t mode) { return __real_open(path, flags, mode); }
inline ssize_t pread(int descriptor, void* to, std::size_t size, off_t offset) {
  return __real_pread(descriptor, to, size, offset);
}
inline ssize_t pwrite(int descriptor, const void* from, std::size_t size, off_t offset) {
  return __real_pwrite(descriptor, from, size, offset);
}
inline int stat(const char* path, struct stat* status) { return __real_stat(path, status); }
inline int unlink(const char* path) { return __real_unlink(path); }

}  // namespace outlast::test::files::system_calls
