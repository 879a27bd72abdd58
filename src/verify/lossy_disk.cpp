#include <outlast/domain/file_device.hpp>
#include <outlast/pool/detail/seams.hpp>
#include <outlast/verify/lossy_disk.hpp>

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

/// Copies the parts of `size` bytes each of which the coin says yes to.
void copy_parts(std::byte* to, const std::byte* from, std::size_t size, random& choices) {
  for (std::size_t at = 0; at < page; at += size) {
    if (choices.one_in(2)) std::memcpy(to + at, from + at, size);
  }
}

/// What the kernel and the device make of one page between two syncs.
void write_back_part(std::byte* to, const std::byte* from, random& choices) {
  switch (choices.below(4)) {
    case 0: break;
    case 1: copy_parts(to, from, page, choices); break;
    case 2: copy_parts(to, from, sector, choices); break;
    default: copy_parts(to, from, line, choices); break;
  }
}

bool is_zero(const std::byte* first) {
  return first[0] == std::byte{} && std::memcmp(first, first + 1, page - 1) == 0;
}

}  // namespace

void frozen_disk::cut(random& choices, file_image& found) const {
  found = durable;
  found.resize(cached.size());  // a change of length is durable at once: files are synced for it
  const bool nothing = choices.one_in(6);
  const bool everything = choices.one_in(6);
  if (nothing) return;
  if (everything) found = cached;
  for (std::size_t at = 0; at + page <= found.size(); at += page) {
    if (std::memcmp(&found[at], &cached[at], page) == 0) continue;
    write_back_part(&found[at], &cached[at], choices);
  }
}

lossy_disk::lossy_disk(std::string path)
    : path_(std::move(path)), fd_(::open(path_.c_str(), O_RDWR | O_CLOEXEC)) {
  if (fd_ < 0) fail("cannot open " + path_);
  read_cache(durable_);
  domain::replace_file_device([this](const std::string& of, std::uint64_t offset,
                                     std::size_t size) { return sync_pages(of, offset, size); });
  pool_detail::test_seams().on_sync = [this] { sync_everything(); };
}

lossy_disk::~lossy_disk() {
  pool_detail::test_seams().on_sync = nullptr;
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
}

void lossy_disk::write_back_something(random& choices) {
  read_cache(present_);
  const file_image& cached = present_;
  durable_.resize(cached.size());
  const std::size_t pages = cached.size() / page;
  const std::size_t first = choices.below(pages);
  for (std::size_t i = 0; i < pages; ++i) {
    const std::size_t at = (first + i) % pages * page;
    if (std::memcmp(&durable_[at], &cached[at], page) == 0) continue;
    write_back_part(&durable_[at], &cached[at], choices);
    return;
  }
}

void lossy_disk::restore(const file_image& found) {
  if (::ftruncate(fd_, static_cast<off_t>(found.size())) != 0) fail("cannot resize " + path_);
  read_cache(present_);
  for (std::size_t at = 0; at + page <= found.size(); at += page) {
    if (std::memcmp(&found[at], &present_[at], page) == 0) continue;
    const auto where = static_cast<off_t>(at);
    // What was never written is a hole again, as the kernel leaves it.
    if (is_zero(&found[at]) &&
        ::fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, where, page) == 0) {
      continue;
    }
    if (::pwrite(fd_, &found[at], page, where) != page) fail("cannot write " + path_);
  }
  durable_ = found;
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
  if (durable_.size() < offset + page) durable_.resize(offset + page);
  if (::pread(fd_, &durable_[offset], page, static_cast<off_t>(offset)) != page) {
    fail("cannot read " + path_);
  }
}

/// What fsync and fdatasync do.
void lossy_disk::sync_everything() {
  if (!faults.postpones_all_but_header) read_cache(durable_);
}

void lossy_disk::read_cache(file_image& into) const {
  struct stat status{};
  if (::fstat(fd_, &status) != 0) fail("cannot examine " + path_);
  into.resize(static_cast<std::size_t>(status.st_size));
  const ssize_t got = ::pread(fd_, into.data(), into.size(), 0);
  if (got != static_cast<ssize_t>(into.size())) fail("cannot read " + path_);
}

}  // namespace outlast::verify
