#include <tests/soak/measure.hpp>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <mutex>
#include <set>
#include <system_error>

#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

std::atomic<std::uint64_t> syncs{0};

}  // namespace

// The linker (--wrap) gives these names to what the system has, and to what the library calls.
extern "C" {
int __real_fdatasync(int);
int __real_fsync(int);
int __real_msync(void*, std::size_t, int);

int __wrap_fdatasync(int descriptor);
int __wrap_fsync(int descriptor);
int __wrap_msync(void* first, std::size_t bytes, int flags);

int __wrap_fdatasync(int descriptor) {
  ++syncs;
  return __real_fdatasync(descriptor);
}
int __wrap_fsync(int descriptor) {
  ++syncs;
  return __real_fsync(descriptor);
}
int __wrap_msync(void* first, std::size_t bytes, int flags) {
  ++syncs;
  return __real_msync(first, bytes, flags);
}
}

namespace outlast::test::soak {
namespace {

namespace fs = std::filesystem;

struct {
  std::mutex mutex;
  std::set<pid_t> threads;
} ours;

/// The number behind a word of a file in /proc.
std::int64_t number_in(const fs::path& file, const std::string& word) {
  std::ifstream text(file);
  for (std::string each; text >> each;) {
    std::int64_t found = 0;
    if (each == word && text >> found) return found;
  }
  return 0;
}

std::int64_t entries_in(const fs::path& folder) {
  std::error_code ignored;
  return std::distance(fs::directory_iterator(folder, ignored), fs::directory_iterator());
}

std::int64_t blocks_of(const fs::path& file) {
  struct stat found{};
  return ::lstat(file.c_str(), &found) == 0 ? std::int64_t{found.st_blocks} * 512 : 0;
}

}  // namespace

sample process_sample() {
  sample taken;
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kilobytes = 0;
    if (word == "RssAnon:" && status >> kilobytes) taken["rss-anon"] = kilobytes * 1024;
    if (word == "RssFile:" && status >> kilobytes) taken["rss-file"] = kilobytes * 1024;
    if (word == "RssShmem:" && status >> kilobytes) taken["rss-shmem"] = kilobytes * 1024;
    if (word == "Threads:" && status >> kilobytes) taken["threads"] = kilobytes;
  }
  const struct mallinfo2 heap = ::mallinfo2();
  taken["heap-bytes"] = static_cast<std::int64_t>(heap.uordblks + heap.hblkhd);
  taken["descriptors"] = entries_in("/proc/self/fd") - 2;  // those of the count and of `status`
  return taken;
}

std::int64_t allocated_bytes(const fs::path& of) {
  std::int64_t sum = blocks_of(of);
  std::error_code gone;
  if (!fs::is_directory(of, gone)) return sum;
  for (fs::recursive_directory_iterator at(of, gone), end; !gone && at != end; at.increment(gone)) {
    sum += blocks_of(at->path());
  }
  return sum;
}

void raise_to(sample& most, const sample& by) {
  for (const auto& [name, value] : by) {
    const auto [at, fresh] = most.try_emplace(name, value);
    if (!fresh) at->second = std::max(at->second, value);
  }
}

std::uint64_t syncs_until_now() { return syncs; }

void this_thread_is_ours() {
  const std::lock_guard lock(ours.mutex);
  ours.threads.insert(::gettid());
}

void this_thread_ends() {
  const std::lock_guard lock(ours.mutex);
  ours.threads.erase(::gettid());
}

std::uint64_t sleeps_of_the_library() {
  std::uint64_t sum = 0;
  std::error_code ignored;
  for (const auto& thread : fs::directory_iterator("/proc/self/task", ignored)) {
    const auto id = static_cast<pid_t>(std::stol(thread.path().filename().string()));
    if (id == ::getpid()) continue;
    {
      const std::lock_guard lock(ours.mutex);
      if (ours.threads.contains(id)) continue;
    }
    sum +=
        static_cast<std::uint64_t>(number_in(thread.path() / "status", "voluntary_ctxt_switches:"));
  }
  return sum;
}

}  // namespace outlast::test::soak
