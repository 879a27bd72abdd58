// A simulated disk that loses a random part of the data that was not synced.
#include <outlast/domain/file_device.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/journal/redo_log.hpp>
#include <outlast/verify/machine/lossy_disk.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace outlast::verify {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t sector = 512;
constexpr std::size_t line = 64;

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// Copies each part of `size` bytes with a probability of one half.
void copy_parts(std::byte* to, const std::byte* from, std::size_t size, random& choices) {
  for (std::size_t at = 0; at < page; at += size) {
    if (choices.one_in(2)) std::memcpy(to + at, from + at, size);
  }
}

/// Simulates write-backs of one page by the kernel and the device between two syncs.
void write_back_part(std::byte* to, const std::byte* from, random& choices) {
  switch (choices.below(4)) {
    case 0: break;
    case 1: copy_parts(to, from, page, choices); break;
    case 2: copy_parts(to, from, sector, choices); break;
    default: copy_parts(to, from, line, choices); break;
  }
}

/// Copies a random part of the differing data to `found`, page by page.
void write_back_parts(file_image& found, const file_image& cached, random& choices) {
  for (std::size_t at = 0; at + page <= found.size(); at += page) {
    if (std::memcmp(&found[at], &cached[at], page) == 0) continue;
    write_back_part(&found[at], &cached[at], choices);
  }
}

/// Where the page begins, from `first` on and around, that is not durable; the size if all are.
std::size_t unsynced_page(const file_image& durable, const file_image& cached, std::size_t first) {
  const std::size_t pages = cached.size() / page;
  for (std::size_t i = 0; i < pages; ++i) {
    const std::size_t at = (first + i) % pages * page;
    if (std::memcmp(&durable[at], &cached[at], page) != 0) return at;
  }
  return cached.size();
}

/// Reads a file. The result is empty if there is none.
void read_file(const std::string& path, int fd, file_image& into) {
  into.clear();
  if (fd < 0) return;
  struct stat status{};
  if (::fstat(fd, &status) != 0) fail("cannot examine " + path);
  into.resize(static_cast<std::size_t>(status.st_size));
  const ssize_t got = ::pread(fd, into.data(), into.size(), 0);
  if (got != static_cast<ssize_t>(into.size())) fail("cannot read " + path);
}

/// A descriptor of a file that may not be there.
class opened {
 public:
  explicit opened(const std::string& path, int flags = O_RDWR)
      : fd_(::open(path.c_str(), flags | O_CLOEXEC, S_IRUSR | S_IWUSR)) {}
  ~opened() {
    if (fd_ >= 0) ::close(fd_);
  }
  opened(const opened&) = delete;
  opened& operator=(const opened&) = delete;
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_;
};

bool is_zero(const std::byte* first) {
  return first[0] == std::byte{} && std::memcmp(first, first + 1, page - 1) == 0;
}

}  // namespace

void frozen_disk::cut(random& choices, disk_image& found) const {
  found = durable;
  // A change of length is durable immediately: files are synced for it, and a log that ends with
  // zeros is equivalent to a shorter one.
  found.pool.resize(cached.pool.size());
  found.log.resize(cached.log.size());
  const bool nothing = choices.one_in(6);
  const bool everything = choices.one_in(6);
  if (nothing) return;
  if (everything) found = cached;
  write_back_parts(found.pool, cached.pool, choices);
  write_back_parts(found.log, cached.log, choices);
}

/// The device of domain::logged_file.
class lossy_disk::under_log final : public pool_detail::log_device {
 public:
  explicit under_log(lossy_disk& disk) : disk_(disk) {}

  int write(const std::string& path, int fd, std::uint64_t offset, const void* bytes,
            std::size_t size) override {
    if (disk_.before_step) disk_.before_step();
    return log_device::write(path, fd, offset, bytes, size);
  }
  int sync(const std::string& path, int fd) override {
    if (disk_.before_step) disk_.before_step();
    disk_.sync_file(path, fd);
    return 0;
  }

 private:
  lossy_disk& disk_;
};

lossy_disk::lossy_disk(std::string path)
    : path_(std::move(path)),
      log_path_(pool_detail::log_path_of(path_)),
      fd_(::open(path_.c_str(), O_RDWR | O_CLOEXEC)),
      under_log_(std::make_unique<under_log>(*this)) {
  if (fd_ < 0) fail("cannot open " + path_);
  read_cache(durable_);
  domain::replace_file_device([this](const std::string& of, std::uint64_t offset,
                                     std::size_t size) { return sync_pages(of, offset, size); });
  pool_detail::test_hooks().on_sync = [this] {
    sync_everything();
    return 0;
  };
  pool_detail::test_hooks().device = under_log_.get();
  pool_detail::test_hooks().drops_owned_pages = true;  // in small pools it would be rare
}

lossy_disk::~lossy_disk() {
  pool_detail::test_hooks().device = nullptr;
  pool_detail::test_hooks().drops_owned_pages = false;
  pool_detail::test_hooks().on_sync = nullptr;
  domain::replace_file_device({});
  ::close(fd_);
}

frozen_disk lossy_disk::freeze() const {
  frozen_disk now;
  freeze(now);
  return now;
}

void lossy_disk::freeze(frozen_disk& into) const {
  into.durable = durable_;
  read_cache(into.cached);
  if (into.cached.log.empty()) into.durable.log.clear();
}

void lossy_disk::write_back_something(random& choices) {
  read_cache(present_);
  durable_.pool.resize(present_.pool.size());
  durable_.log.resize(present_.log.size());
  const std::size_t first = choices.below(present_.pool.size() / page);
  const std::size_t at = unsynced_page(durable_.pool, present_.pool, first);
  if (at < present_.pool.size()) {
    write_back_part(&durable_.pool[at], &present_.pool[at], choices);
    return;
  }
  const std::size_t in_log = unsynced_page(durable_.log, present_.log, 0);
  if (in_log >= present_.log.size()) return;
  write_back_part(&durable_.log[in_log], &present_.log[in_log], choices);
}

void lossy_disk::restore(const disk_image& found) {
  const file_image& pool = found.pool;
  if (::ftruncate(fd_, static_cast<off_t>(pool.size())) != 0) fail("cannot resize " + path_);
  read_cache(present_);
  for (std::size_t at = 0; at + page <= pool.size(); at += page) {
    if (std::memcmp(&pool[at], &present_.pool[at], page) == 0) continue;
    const auto where = static_cast<off_t>(at);
    // A page that was never written becomes a hole again, as in the kernel.
    if (is_zero(&pool[at]) &&
        ::fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, where, page) == 0) {
      continue;
    }
    if (::pwrite(fd_, &pool[at], page, where) != page) fail("cannot write " + path_);
  }
  restore_log(found.log);
  durable_ = found;
}

void lossy_disk::restore_log(const file_image& log) {
  if (log.empty()) {
    ::unlink(log_path_.c_str());
    return;
  }
  const opened file(log_path_, O_RDWR | O_CREAT | O_TRUNC);
  if (::pwrite(file.get(), log.data(), log.size(), 0) != static_cast<ssize_t>(log.size())) {
    fail("cannot write " + log_path_);
  }
}

int lossy_disk::sync_pages(const std::string& path, std::uint64_t offset, std::size_t size) {
  if (path != path_) return 0;
  for (std::size_t done = 0; done < size; done += page) sync_page(offset + done);
  return 0;
}

void lossy_disk::sync_page(std::uint64_t offset) {
  ++pages_synced_;
  if (faults.drops_one_page_in != 0 && pages_synced_ % faults.drops_one_page_in == 0) return;
  if (faults.postpones_all_but_header && offset != 0) return;
  file_image& durable = durable_.pool;
  if (durable.size() < offset + page) durable.resize(offset + page);
  if (::pread(fd_, &durable[offset], page, static_cast<off_t>(offset)) != page) {
    fail("cannot read " + path_);
  }
}

/// Simulates fsync and fdatasync.
void lossy_disk::sync_everything() {
  if (!faults.postpones_all_but_header) read_file(path_, fd_, durable_.pool);
}

/// Simulates a sync with a log in use. The file may not have its name yet.
void lossy_disk::sync_file(const std::string& path, int fd) {
  if (path == path_) {
    if (!faults.forgets_pages_in_place) read_file(path, fd, durable_.pool);
  } else if (path == log_path_) {
    ++log_syncs_;
    const std::uint64_t skipped = faults.skips_one_log_sync_in;
    if (skipped == 0 || log_syncs_ % skipped != 0) read_file(path, fd, durable_.log);
  }
}

void lossy_disk::read_cache(disk_image& into) const {
  read_file(path_, fd_, into.pool);
  const opened log(log_path_, O_RDONLY);
  read_file(log_path_, log.get(), into.log);
}

}  // namespace outlast::verify
