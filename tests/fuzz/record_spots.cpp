// Finds the parts of a store of records: docs/formats/records.md.
#include <outlast/pool/format.hpp>
#include <src/db/records/format.hpp>
#include <src/db/records/index_pages.hpp>
#include <tests/fuzz/record_spots.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

namespace outlast::fuzz {
namespace {

using namespace store_detail::records;

constexpr std::size_t line = 64;
constexpr std::size_t mark_bytes = usual_shape::mark_bytes;

/// The bytes of a file, aligned, with zeros instead of its holes.
class aligned_bytes {
 public:
  explicit aligned_bytes(std::size_t size) : lines_(size / line + 1), size_(size) {}

  [[nodiscard]] std::byte* data() noexcept { return lines_.front().bytes; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  template <class T>
  [[nodiscard]] const T& as(std::size_t at) noexcept {
    return *reinterpret_cast<const T*>(data() + at);
  }
  void put(std::size_t at, const std::string& bytes) noexcept {
    std::memcpy(data() + at, bytes.data(), bytes.size());
  }

 private:
  struct alignas(line) one_line {
    std::byte bytes[line] = {};
  };
  std::vector<one_line> lines_;
  std::size_t size_;
};

class finder {
 public:
  finder(good_store& in, std::size_t file)
      : in_(in), file_(file), image_(static_cast<std::size_t>(in.files[file].size)) {
    for (const auto& [begin, bytes] : in.files[file].parts) {
      image_.put(static_cast<std::size_t>(begin), bytes);
    }
  }

  void find() {
    const auto& fixed = image_.as<pool_format::static_header>(0);
    for (const word_at& each : in_.at(spot::any)) {
      if (each.offset < static_cast<off_t>(fixed.first_data_offset)) {
        in_.at(spot::tables).push_back(each);
      }
    }
    for (std::size_t at = fixed.first_data_offset; at + line <= image_.size(); at += line) {
      find_store_header(at);
    }
    for (std::size_t at = fixed.first_data_offset; at + line <= image_.size(); at += line) {
      find_segment(at);
      find_mark(at);
    }
  }

 private:
  [[nodiscard]] std::size_t add(checked_part::kind what, std::size_t at, std::size_t bytes,
                                std::uint64_t salt) {
    const auto* const first = reinterpret_cast<const char*>(image_.data() + at);
    in_.parts.push_back({what, static_cast<off_t>(at), std::string(first, bytes), salt});
    return in_.parts.size() - 1;
  }
  void note(spot where, std::size_t at, std::size_t bytes, std::size_t part) {
    note_words(in_.at(where), file_, static_cast<off_t>(at), bytes, part);
  }

  void find_store_header(std::size_t at) {
    const auto& header = image_.as<store_header>(at);
    const bool has_room = header.name_bytes < image_.size() - at - sizeof header;
    if (header.version != store_header::known_version || !has_room ||
        header.check != header.right_check()) {
      return;
    }
    const auto& uuid = image_.as<pool_format::static_header>(0).uuid;
    in_.secret = seeded_hash(uuid.data(), uuid.size(), header.origin);
    note(spot::store_header, at, sizeof header + header.name_bytes, word_at::no_part);
  }
  void find_mark(std::size_t at) {
    const auto& mark = image_.as<mark_header>(at);
    if (!mark.is_mark() || at + mark_bytes > image_.size()) return;
    const std::size_t part = add(checked_part::kind::mark, at, sizeof mark, 0);
    const std::size_t entries = std::min<std::size_t>(mark.count, 64) + 1;
    note(spot::marks, at, sizeof mark + entries * sizeof(mark_entry), part);
  }
  void find_segment(std::size_t begin) {
    const auto& header = image_.as<segment_header>(begin);
    if (header.is_absent() || !header.is_intact(in_.secret)) return;
    if (header.bytes > image_.size() - begin) return;
    note(spot::segment_headers, begin, sizeof header,
         add(checked_part::kind::segment, begin, sizeof header, header.salt));
    const std::size_t end = begin + header.bytes;
    std::size_t batch = 0;
    std::size_t entries = 0;
    for (std::size_t at = begin + sizeof header; at < end;) {
      const std::byte* const here = image_.data() + at;
      if (state_of_record(here, end - at, header.salt) != record_state::intact) return;
      const std::size_t bytes = bytes_of(image_.as<record_header>(at));
      const std::size_t part = add(checked_part::kind::record, at, bytes, header.salt);
      note(spot::record_heads, at, std::min(bytes, sizeof(record_header)), part);
      note(spot::record_bytes, at, bytes, part);
      const auto& record = image_.as<record_header>(at);
      if (record.kind() == record_kind::batch) {
        batch = at;
        entries = record.age_or_entries;
      } else if (entries != 0) {
        --entries;
        note_newest(record, batch, at + bytes);
      } else if (record.kind() != record_kind::space && !record.is_entry()) {
        note_newest(record, at, at + bytes);
      }
      at += bytes;
    }
  }

  void note_newest(const record_header& record, std::size_t begin, std::size_t end) {
    newest_record& its = in_.newest[std::string(record.key())];
    if (its.version >= record.version) return;
    its = {static_cast<off_t>(begin), static_cast<off_t>(end), record.version, {}};
    if (record.kind() == record_kind::put) its.value = std::string(record.value());
  }

  good_store& in_;
  std::size_t file_;
  aligned_bytes image_;
};

void read_into(aligned_bytes& to, const file_of_store& file, off_t at) {
  file.read(to.data(), to.size(), at);
}

void check_segment(const good_store& good, const checked_part& of, const file_of_store& file) {
  aligned_bytes now(sizeof(segment_header));
  read_into(now, file, of.begin);
  auto& header = *reinterpret_cast<segment_header*>(now.data());
  header.check.store(header.right_check(good.secret));
  const std::uint64_t state = header.state.load();
  constexpr std::uint64_t low_bits = (std::uint64_t{1} << 48) - 1;
  if (state != 0) header.state.store(sealed_state((state & low_bits) >> 2, header.salt));
  file.write(now.data(), sizeof header, of.begin);
}
void check_mark(const good_store& good, const checked_part& of, const file_of_store& file) {
  aligned_bytes now(mark_bytes);
  read_into(now, file, of.begin);
  auto& mark = *reinterpret_cast<mark_header*>(now.data());
  if (mark.count > (mark_bytes - sizeof mark) / sizeof(mark_entry)) return;
  mark.check = mark.right_check(good.secret);
  file.write(now.data(), sizeof mark, of.begin);
}
void check_record(const checked_part& of, const file_of_store& file) {
  aligned_bytes now(of.bytes.size());
  read_into(now, file, of.begin);
  const std::uint32_t age = now.as<record_header>(0).age_or_entries;
  const std::uint64_t version = now.as<record_header>(0).version;
  now.put(0, of.bytes);
  auto& record = *reinterpret_cast<record_header*>(now.data());
  if (record.kind() == record_kind::space) return;
  record.age_or_entries = age;
  record.version = version;
  if (record.kind() != record_kind::batch) {
    const std::uint32_t of_value = value_check_of(record.value(), record.version, of.salt);
    std::memcpy(now.data() + sizeof record + record.key_bytes() + record.value_bytes, &of_value,
                sizeof of_value);
  }
  record.check = head_check_of(record, record.length_kind, record.key_bytes(), of.salt);
  file.write(now.data(), of.bytes.size(), of.begin);
}

}  // namespace

void note_record_spots(good_store& in) {
  for (std::size_t file = 0; file < in.files.size(); ++file) {
    if (in.files[file].name.ends_with(".pool")) finder(in, file).find();
  }
}

void write_checks(const good_store& good, std::size_t part, const file_of_store& file) {
  const checked_part& of = good.parts.at(part);
  switch (of.what) {
    case checked_part::kind::segment: return check_segment(good, of, file);
    case checked_part::kind::mark: return check_mark(good, of, file);
    case checked_part::kind::record: return check_record(of, file);
  }
}

}  // namespace outlast::fuzz
