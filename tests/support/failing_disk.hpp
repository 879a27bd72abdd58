// A disk under pools of domain::file that fails as Linux shows it: the page that could not be
// written back is clean from then on, with its new content in the cache.
#pragma once

#include <outlast/domain/file_device.hpp>
#include <outlast/pool/file/test_hooks.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <unistd.h>

namespace outlast::test {

/// The file is what the cache holds of it; what the media hold is an image in memory. There is one
/// at a time, for one pool. A store of the same bytes dirties no page here, unless the pool tells
/// that it stores them again.
class failing_disk {
 public:
  using image = std::vector<char>;

  /// Puts the file `path` on it, as durable as it is. `can_be_read`: past the cache.
  failing_disk(const std::string& path, bool can_be_read)
      : fd_(::open(path.c_str(), O_RDWR | O_CLOEXEC)), media_(content()), written_(media_) {
    domain::replace_file_device([this](const std::string&, std::uint64_t offset, std::size_t size) {
      return sync(offset, offset + size);
    });
    auto& hooks = pool_detail::test_hooks();
    hooks.on_sync = [this] { return sync(0, ~std::size_t{0}); };
    hooks.on_store_again = [this](std::uint64_t offset) { stored_again_.insert(offset); };
    if (can_be_read) {
      hooks.read_device = [this](std::uint64_t offset, std::span<std::byte> to) {
        return read_media(offset, to);
      };
    }
    hooks.file_system = EXT4_SUPER_MAGIC;  // wherever the test runs
  }
  ~failing_disk() {
    domain::replace_file_device({});
    auto& hooks = pool_detail::test_hooks();
    hooks.on_sync = nullptr;
    hooks.on_store_again = nullptr;
    hooks.read_device = nullptr;
    hooks.file_system.reset();
    ::close(fd_);
  }
  failing_disk(const failing_disk&) = delete;
  failing_disk& operator=(const failing_disk&) = delete;

  /// After `more` further syncs that had something to write, the pages of one are refused.
  void fail_after(std::uint64_t more, int error_number) {
    fails_at_ = writes_ + more + 1;
    error_number_ = error_number;
  }
  /// The process dies in that sync, before anything is written.
  void die_after(std::uint64_t more) { dies_at_ = writes_ + more + 1; }
  void heal() { fails_at_ = dies_at_ = 0; }
  [[nodiscard]] bool has_died() const { return died_; }
  [[nodiscard]] bool has_failed() const { return errors_ != 0; }

  /// The kernel writes back what is dirty, of its own accord.
  void write_back() {
    follow_length();
    (void)write_pages(0, media_.size());
  }
  /// The same where the device refuses it.
  void refuse_write_back() {
    fail_after(0, EIO);
    write_back();
    heal();
  }

  /// Opens the file in another process, which receives an error that no process has received yet.
  void opened_again() { reported_ = reported_to_any_; }

  /// The cache is gone: the file is what the media hold.
  void cut_power() {
    follow_length();
    for (std::size_t at = 0; at < media_.size(); at += page) put(at);
    written_ = media_;
  }

 private:
  static constexpr std::size_t page = 4096;

  [[nodiscard]] image content() const {
    struct stat status{};
    if (fd_ < 0 || ::fstat(fd_, &status) != 0) throw std::runtime_error("cannot look at the pool");
    image all(static_cast<std::size_t>(status.st_size));
    if (::pread(fd_, all.data(), all.size(), 0) != status.st_size) {
      throw std::runtime_error("cannot read the pool");
    }
    return all;
  }

  /// The length of the file is on the media as soon as it is set.
  void follow_length() {
    struct stat status{};
    if (fd_ < 0 || ::fstat(fd_, &status) != 0) throw std::runtime_error("cannot look at the pool");
    media_.resize(static_cast<std::size_t>(status.st_size));
    written_.resize(media_.size());
    stored_again_.erase(stored_again_.lower_bound(media_.size()), stored_again_.end());
  }

  void put(std::size_t at) {
    image present(page);
    (void)!::pread(fd_, present.data(), page, static_cast<off_t>(at));
    if (std::memcmp(present.data(), &media_[at], page) == 0) return;
    if (::pwrite(fd_, &media_[at], page, static_cast<off_t>(at)) != page) {
      throw std::runtime_error("cannot write the pool");
    }
  }

  [[nodiscard]] bool is_dirty(std::size_t begin, std::size_t end) const {
    if (stored_again_.lower_bound(begin) != stored_again_.lower_bound(end)) return true;
    return begin < end && std::memcmp(&content()[begin], &written_[begin], end - begin) != 0;
  }

  bool write_pages(std::size_t begin, std::size_t end) {
    end = std::min(end, media_.size());
    if (begin >= end) return true;
    if (!is_dirty(begin, end)) return true;
    const image now = content();
    const bool refused = ++writes_ == fails_at_;
    std::memcpy(&written_[begin], &now[begin], end - begin);
    if (!refused) std::memcpy(&media_[begin], &now[begin], end - begin);
    stored_again_.erase(stored_again_.lower_bound(begin), stored_again_.lower_bound(end));
    if (refused) ++errors_;
    return !refused;
  }

  /// Syncs. An open file reports each error once, to the first caller.
  int sync(std::size_t begin, std::size_t end) {
    follow_length();
    end = std::min(end, media_.size());
    begin = std::min(begin, end);
    died_ = died_ || (dies_at_ == writes_ + 1 && is_dirty(begin, end));
    if (died_ && dies_at_ != 0) return EIO;
    (void)write_pages(begin, end);
    if (reported_ == errors_) return 0;
    reported_ = reported_to_any_ = errors_;
    return error_number_;
  }

  /// What is dirty is written back before.
  bool read_media(std::uint64_t offset, std::span<std::byte> to) {
    follow_length();
    const std::size_t end = std::min(media_.size(), offset + to.size());
    if (!write_pages(offset, end)) return false;
    std::memcpy(to.data(), &media_[offset], end - offset);
    return true;
  }

  int fd_;
  image media_;
  image written_;  // content that the kernel has tried to write back
  std::set<std::uint64_t> stored_again_;
  std::uint64_t writes_ = 0;
  std::uint64_t fails_at_ = 0;
  std::uint64_t dies_at_ = 0;
  bool died_ = false;
  int error_number_ = EIO;
  std::uint64_t errors_ = 0;
  std::uint64_t reported_ = 0;
  std::uint64_t reported_to_any_ = 0;
};

}  // namespace outlast::test
