#!/usr/bin/env python3
"""Does the stand see every call on files that the library makes?

usage: wrapped_names.py NM LIBRARY NAME...

NAME: a function of the system that the linker wraps. Exit status 1 if the library calls one that has to do with
files and is not among them.
"""

import subprocess
import sys

FILES = set("""access chmod chown close closedir copy_file_range creat dup dup2 dup3 faccessat fallocate fchmod
fchmodat fchown fchownat fclose fcntl fdatasync fdopen fdopendir fgetxattr flock fopen freopen fsetxattr fstat fstatat
fstatfs fstatvfs fsync ftruncate getxattr ioctl lchown link linkat lockf lseek lstat mkdir mkdirat mknod mkostemp
mkstemp mmap mremap msync munmap open open_by_handle_at openat opendir pathconf posix_fadvise posix_fallocate pread
preadv pwrite pwritev read readdir readlink readlinkat readv realpath remove rename renameat renameat2 rmdir scandir
sendfile setxattr splice stat statfs statvfs statx symlink symlinkat sync sync_file_range syncfs syscall tmpfile
truncate unlink unlinkat utimensat write writev""".split())
# What becomes of them changes nothing: a device is asked what it is; names of an open directory are read.
HARMLESS = {"closedir", "ioctl", "readdir"}


def main(nm, library, *wrapped):
    symbols = subprocess.run([nm, "--undefined-only", "-P", library], capture_output=True, text=True, check=True).stdout
    called = {line.split()[0] for line in symbols.splitlines() if line.endswith("U") or " U " in line}
    called |= {name[:-2] for name in called if name.endswith("64")}
    missing = sorted((called & FILES) - set(wrapped) - HARMLESS)
    unused = sorted(set(wrapped) - called)
    print(f"{len(called & FILES)} functions on files, {len(missing)} not wrapped: {' '.join(missing)}")
    print(f"wrapped and not called: {' '.join(unused)}")
    return 1 if missing or not called & FILES else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
