// Reading the batches of a redo log, and comparing it with the generations of a pool's file.
#include <outlast/base/error.hpp>
#include <src/pool/file/file_calls.hpp>
#include <src/pool/journal/log_files.hpp>
#include <src/pool/journal/log_reader.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace outlast::pool_detail {
namespace {

using namespace pool_format;

std::uint64_t length_of(const std::string& path, int fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) fail(path, "examine the file", errno);
  return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace

log_reader::log_reader(std::string path, int fd, const pool_uuid& uuid)
    : path_(std::move(path)), fd_(fd), uuid_(uuid), length_(length_of(path_, fd)) {
  std::vector<std::byte> pages(first_batch_offset);
  try {
    pages.resize(read_some(path_, fd_, 0, pages.data(), pages.size()));
    reading_ = read_log(pages);
  } catch (const error& failed) {
    if (failed.reason() != errc::io_failure) throw;
    reading_.problem = header_problem{errc::io_failure, "could not be read from its device"};
    reading_.ours = true;
  }
  if (reading_.start) sequence_ = reading_.start->sequence;
}

std::optional<std::span<const std::byte>> log_reader::next() {
  if (!read_batch(offset_, sequence_)) return std::nullopt;
  offset_ += buffer_.size();
  ++sequence_;
  return buffer_;
}

void log_reader::rewind() noexcept {
  offset_ = first_batch_offset;
  sequence_ = reading_.start->sequence;
}

std::uint64_t log_reader::newest_after_end() {
  std::uint64_t newest = 0;
  for (std::uint64_t at = offset_; at < length_; at += page_bytes) {
    batch_header header;
    if (read_some(path_, fd_, at, &header, sizeof header) != sizeof header) break;
    if (header.sequence > std::max(newest, sequence_) && read_batch(at, header.sequence)) {
      newest = header.sequence;
    }
  }
  return newest;
}

bool log_reader::read_batch(std::uint64_t offset, std::uint64_t sequence) {
  batch_header header;
  if (offset >= length_ || read_some(path_, fd_, offset, &header, sizeof header) != sizeof header ||
      !plausible(header, uuid_, sequence, length_ - offset)) {
    return false;
  }
  buffer_.resize(header.bytes);
  return read_some(path_, fd_, offset, buffer_.data(), buffer_.size()) == buffer_.size() &&
         intact_batch(buffer_);
}

std::uint64_t generation_before(const log_reading& of, std::uint64_t sequence) noexcept {
  return of.start->pool_generation + (sequence - of.start->sequence);
}

bool is_older_than_log(const page_generations& file, const log_reading& log) noexcept {
  const bool counts_batches = log.version >= first_version_that_counts;
  return (counts_batches ? file.complete : file.newest) < log.start->pool_generation;
}

bool is_newer_than_log(const page_generations& file, const log_reading& log,
                       std::uint64_t end) noexcept {
  return log.version >= first_version_that_counts && file.newest > generation_before(log, end);
}

}  // namespace outlast::pool_detail
