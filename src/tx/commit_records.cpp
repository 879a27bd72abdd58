#include <outlast/tx/detail/commit_records.hpp>

#include <algorithm>
#include <cstring>

namespace outlast::tx::detail {
namespace {

const line_number* numbers_of(const commit_record& record) noexcept {
  return reinterpret_cast<const line_number*>(&record + 1);
}

const std::byte* contents_of(const commit_record& record) noexcept {
  return reinterpret_cast<const std::byte*>(&record) + lines_offset_in_record(record.lines);
}

}  // namespace

bool is_intact(const commit_record& record, std::uint64_t generation, std::uint64_t room,
               std::uint64_t replica_lines) noexcept {
  if (record.magic != commit_record::right_magic || record.generation != generation) return false;
  if (record.lines > room / base::cache_line_size || record_bytes(record.lines) > room) {
    return false;
  }
  record_checksum sum(record);
  for (std::uint64_t i = 0; i < record.lines; ++i) {
    const line_number line = numbers_of(record)[i];
    if (line >= replica_lines) return false;
    sum.add(line);
  }
  return record.checksum == sum.with(contents_of(record), record.lines * base::cache_line_size);
}

commit_log_reader::commit_log_reader(std::span<const std::byte> region, std::uint64_t home,
                                     std::uint64_t replica_bytes)
    : ring_(region.subspan(commit_records_offset)),
      number_(home),
      replica_lines_(replica_bytes / base::cache_line_size) {
  commit_log_header start;
  std::memcpy(&start, region.data(), sizeof start);
  if (start.number == commit_log_header::no_number) return;
  const std::uint64_t sum = pool_format::checksum_of(&start, offsetof(commit_log_header, checksum));
  if (start.magic != commit_log_header::right_magic || start.checksum != sum) {
    look_without_start();
    return;
  }
  if (start.number != home) return;
  generation_ = start.generation;
  read(start.position);
  look_for_what_was_durable();
}

/// Returns nullptr if there is no record of this generation at `position`, or if it is not whole.
const commit_record* commit_log_reader::record_at(std::uint64_t position) const noexcept {
  const std::uint64_t at = position % ring_.size();
  const auto* const found = reinterpret_cast<const commit_record*>(&ring_[at]);
  return is_intact(*found, generation_, ring_.size() - at, replica_lines_) ? found : nullptr;
}

/// A record that did not fit before the end of the ring is at the beginning of the ring.
const commit_record* commit_log_reader::next_from(std::uint64_t position) const noexcept {
  for (const std::uint64_t at : {position, lap_from(position, ring_.size())}) {
    const commit_record* const found = record_at(at);
    if (found != nullptr && found->number == number_ + 1) return found;
  }
  return nullptr;
}

void commit_log_reader::read(std::uint64_t position) {
  while (const commit_record* const next = next_from(position)) {
    position = static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(next) - ring_.data()) +
               record_bytes(next->lines);
    records_.push_back(next);
    number_ = next->number;
  }
}

/// After the first record that is not whole there can be whole ones, which were never synced. If
/// one of them states that the missing commit was durable, that record was damaged later.
void commit_log_reader::look_for_what_was_durable() {
  for (std::uint64_t at = 0; at < ring_.size(); at += base::cache_line_size) {
    const auto* const each = reinterpret_cast<const commit_record*>(&ring_[at]);
    if (each->magic != commit_record::right_magic || each->generation != generation_) continue;
    if (each->number <= number_ || each->durable <= number_ || each->durable >= each->number) {
      continue;
    }
    if (record_at(at) == nullptr) continue;
    damage_ = "has transition " + std::to_string(each->number) + ", which was made when " +
              std::to_string(each->durable) + " was durable, but none behind " +
              std::to_string(number_);
    return;
  }
}

/// A log that was never used has no header and no records.
void commit_log_reader::look_without_start() {
  for (std::uint64_t at = 0; at < ring_.size() && damage_.empty(); at += base::cache_line_size) {
    generation_ = reinterpret_cast<const commit_record*>(&ring_[at])->generation;
    const commit_record* const found = record_at(at);
    if (found == nullptr || found->number <= number_) continue;
    damage_ = "has transitions, but the checksum of its header does not match";
  }
}

std::vector<line_found> commit_log_reader::lines() const {
  std::vector<line_found> all;
  write_set seen;
  for (auto each = records_.rbegin(); each != records_.rend(); ++each) {
    for (std::uint64_t i = 0; i < (*each)->lines; ++i) {
      const line_number line = numbers_of(**each)[i];
      if (seen.contains(line)) continue;
      seen.add(line);
      all.push_back({line, contents_of(**each) + i * base::cache_line_size});
    }
  }
  return all;
}

}  // namespace outlast::tx::detail
