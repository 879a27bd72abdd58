// The redo log's format: checksums, and the validation of headers and batches.
#include <outlast/base/cache_line.hpp>
#include <outlast/pool/journal/log_format.hpp>

#include <algorithm>
#include <cstring>
#include <string>

namespace outlast::pool_format {
namespace {

template <class T>
T read_at(std::span<const std::byte> bytes, std::uint64_t offset) noexcept {
  T result;
  std::memcpy(&result, bytes.data() + offset, sizeof result);
  return result;
}

std::uint64_t checksum_of_batch(std::span<const std::byte> batch) noexcept {
  const std::span<const std::byte> behind = batch.subspan(sizeof(std::uint64_t));
  return checksum_of(behind.data(), behind.size());
}

log_reading refuse(log_reading so_far, errc code, std::string sentence) {
  so_far.problem = header_problem{code, std::move(sentence)};
  return so_far;
}

void find_start(std::span<const std::byte> bytes, log_reading& result) noexcept {
  for (unsigned i = 0; i < 2; ++i) {
    const auto each = read_at<log_start>(bytes, start_offsets[i]);
    if (!intact(each) || (result.start && each.sequence <= result.start->sequence)) continue;
    result.start = each;
    result.start_index = i;
  }
}

}  // namespace

std::uint64_t batch_lines_offset(std::uint64_t ranges) noexcept {
  return base::round_up(sizeof(batch_header) + ranges * sizeof(std::uint64_t), line_bytes);
}

std::uint64_t batch_bytes(std::uint64_t ranges, std::uint64_t lines) noexcept {
  return base::round_up(batch_lines_offset(ranges) + lines * line_bytes, page_bytes);
}

std::uint64_t max_lines_in(std::uint64_t bytes) noexcept {
  const std::uint64_t whole_pages = bytes / page_bytes * page_bytes;
  // The words of the lines' ranges end in a line of their own.
  return (whole_pages - sizeof(batch_header) - line_bytes) / (line_bytes + sizeof(std::uint64_t));
}

void seal(log_header& header) noexcept {
  header.checksum = checksum_of(&header, offsetof(log_header, checksum));
}

void seal(log_start& start) noexcept {
  start.checksum = checksum_of(&start, offsetof(log_start, checksum));
}

void seal_batch(std::span<std::byte> batch) noexcept {
  const std::uint64_t checksum = checksum_of_batch(batch);
  std::memcpy(batch.data(), &checksum, sizeof checksum);
}

bool intact(const log_header& header) noexcept {
  return header.checksum == checksum_of(&header, offsetof(log_header, checksum));
}

bool intact(const log_start& start) noexcept {
  return start.checksum == checksum_of(&start, offsetof(log_start, checksum));
}

log_reading read_log(std::span<const std::byte> bytes) {
  log_reading result;
  if (bytes.size() < sizeof(log_header)) {
    return refuse(result, errc::truncated, "is shorter than its header");
  }
  const auto header = read_at<log_header>(bytes, 0);
  result.ours = header.magic_word == log_magic;
  if (!result.ours) return refuse(result, errc::not_a_pool, "does not begin as a redo log does");
  if (header.endian != endian_tag && intact(header)) {
    return refuse(result, errc::foreign_machine, "was written on a machine of another byte order");
  }
  if (!intact(header)) return refuse(result, errc::header_damaged, "has a damaged header");
  result.uuid = header.uuid;
  result.version = header.format_version;
  if (header.format_version == 0 || header.format_version > log_version ||
      header.line_size_bytes != line_bytes || header.page_size_bytes != page_bytes) {
    return refuse(result, errc::newer_version,
                  "has format version " + std::to_string(header.format_version) +
                      ", this library supports version " + std::to_string(log_version));
  }
  if (bytes.size() < first_batch_offset) {
    return refuse(result, errc::truncated, "ends inside of its first pages");
  }
  find_start(bytes, result);
  if (result.start) return result;
  return refuse(result, errc::header_damaged, "has lost both notes of where it begins");
}

page_generations generations_of(std::span<const std::byte> first_page) noexcept {
  page_generations found;
  for (const std::size_t offset : slot_offsets) {
    const auto slot = read_at<state_slot>(first_page, offset);
    if (!intact(slot)) continue;
    found.complete =
        found.newest == 0 ? slot.generation : std::min(found.complete, slot.generation);
    found.newest = std::max(found.newest, slot.generation);
  }
  return found;
}

void set_generations(std::span<std::byte> first_page, const page_generations& wanted) noexcept {
  const std::uint64_t newest = generations_of(first_page).newest;
  auto state = read_at<state_slot>(first_page, slot_offsets[0]);
  if (!intact(state) || state.generation != newest) {
    state = read_at<state_slot>(first_page, slot_offsets[1]);
  }
  if (!intact(state)) return;
  const std::uint64_t generations[2] = {wanted.newest, wanted.complete};
  for (std::size_t i = 0; i < 2; ++i) {
    state.generation = generations[i];
    seal(state);
    std::memcpy(first_page.data() + slot_offsets[i], &state, sizeof state);
  }
}

bool plausible(const batch_header& header, const pool_uuid& uuid, std::uint64_t sequence,
               std::uint64_t max_bytes) noexcept {
  return header.magic_word == batch_magic && header.uuid == uuid && header.sequence == sequence &&
         header.bytes <= max_bytes && header.bytes == batch_bytes(header.ranges, header.lines);
}

bool intact_batch(std::span<const std::byte> batch) noexcept {
  return read_at<batch_header>(batch, 0).checksum == checksum_of_batch(batch);
}

std::optional<std::vector<logged_range>> ranges_of(std::span<const std::byte> batch,
                                                   std::uint64_t pool_bytes) {
  const auto header = read_at<batch_header>(batch, 0);
  std::vector<logged_range> result;
  result.reserve(header.ranges);
  std::uint64_t at = batch_lines_offset(header.ranges);
  for (std::uint32_t i = 0; i < header.ranges; ++i) {
    const line_run run = line_run::unpack(
        read_at<std::uint64_t>(batch, sizeof header + std::uint64_t{i} * sizeof(std::uint64_t)));
    const std::uint64_t bytes = run.lines * line_bytes;
    const std::uint64_t offset = run.first * line_bytes;
    if (bytes == 0 || offset > pool_bytes || bytes > pool_bytes - offset ||
        bytes > batch.size() - at) {
      return std::nullopt;
    }
    result.push_back({offset, batch.subspan(at, bytes)});
    at += bytes;
  }
  return result;
}

}  // namespace outlast::pool_format
