// WriteBatch: a batch of changes as one byte string, and its iteration.
#include <outlast/db/write_batch.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace OUTLAST_DB_NAMESPACE {

namespace {

constexpr char a_put = 1;
constexpr char a_deletion = 2;
constexpr char a_deletion_of_a_range = 3;
constexpr std::size_t count_bytes = sizeof(std::uint64_t);

void append_number(std::string& to, std::uint64_t number) {
  for (; number >= 128; number >>= 7) to.push_back(static_cast<char>(number | 128));
  to.push_back(static_cast<char>(number));
}

void append_text(std::string& to, const Slice& text) {
  append_number(to, text.size());
  to.append(text.view());
}

std::optional<std::uint64_t> take_number(std::string_view& from) {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift < 64 && !from.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(from.front());
    from.remove_prefix(1);
    if (shift == 63 && byte > 1) return std::nullopt;
    number |= std::uint64_t{byte & 127U} << shift;
    if (byte < 128) return number;
  }
  return std::nullopt;
}

std::optional<Slice> take_text(std::string_view& from) {
  const std::optional<std::uint64_t> bytes = take_number(from);
  if (!bytes || *bytes > from.size()) return std::nullopt;
  const Slice text(from.data(), *bytes);
  from.remove_prefix(*bytes);
  return text;
}

std::uint64_t count_in(std::string_view bytes) {
  std::uint64_t count = 0;
  for (std::size_t i = count_bytes; i-- > 0;) {
    count = count << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return count;
}

void set_count(std::string& in, std::uint64_t count) {
  for (std::size_t i = 0; i < count_bytes; ++i, count >>= 8) in[i] = static_cast<char>(count);
}

/// Passes the change at the beginning of `rest` to the handler, and removes it from `rest`.
template <class DeleteRange>
Status replay_next(std::string_view& rest, WriteBatch::Handler& handler,
                   DeleteRange& delete_range) {
  const char what = rest.front();
  rest.remove_prefix(1);
  if (what != a_put && what != a_deletion && what != a_deletion_of_a_range) {
    return Status::Corruption("a write batch contains a change of the unknown kind " +
                              std::to_string(static_cast<unsigned char>(what)));
  }
  const std::optional<Slice> key = take_text(rest);
  if (!key) return Status::Corruption("a write batch ends inside a key");
  if (what == a_deletion) {
    handler.Delete(*key);
    return Status::OK();
  }
  const std::optional<Slice> other = take_text(rest);
  if (!other) return Status::Corruption("a write batch ends inside a value");
  if (what == a_deletion_of_a_range) return delete_range(*key, *other);
  handler.Put(*key, *other);
  return Status::OK();
}

template <class DeleteRange>
Status replay(std::string_view rest, WriteBatch::Handler& handler, DeleteRange&& delete_range) {
  const std::uint64_t count = count_in(rest);
  rest.remove_prefix(count_bytes);
  std::uint64_t found = 0;
  for (; !rest.empty(); ++found) {
    Status status = replay_next(rest, handler, delete_range);
    if (!status.ok()) return status;
  }
  if (found != count) {
    return Status::Corruption("a write batch contains " + std::to_string(found) +
                              " changes, and its header states " + std::to_string(count));
  }
  return Status::OK();
}

}  // namespace

WriteBatch::Handler::~Handler() = default;
WriteBatch::RangeHandler::~RangeHandler() = default;

WriteBatch::WriteBatch() : rep_(count_bytes, '\0') {}

WriteBatch::~WriteBatch() = default;

void WriteBatch::Put(const Slice& key, const Slice& value) {
  rep_.push_back(a_put);
  append_text(rep_, key);
  append_text(rep_, value);
  set_count(rep_, count_in(rep_) + 1);
}

void WriteBatch::Delete(const Slice& key) {
  rep_.push_back(a_deletion);
  append_text(rep_, key);
  set_count(rep_, count_in(rep_) + 1);
}

void WriteBatch::DeleteRange(const Slice& begin, const Slice& end) {
  rep_.push_back(a_deletion_of_a_range);
  append_text(rep_, begin);
  append_text(rep_, end);
  set_count(rep_, count_in(rep_) + 1);
}

void WriteBatch::Clear() { rep_.assign(count_bytes, '\0'); }

size_t WriteBatch::ApproximateSize() const {
  // LevelDB's batches begin with 12 bytes; programs that limit the size of a batch get the same
  // limit.
  constexpr std::size_t more = 12 - count_bytes;
  return rep_.size() + more;
}

void WriteBatch::Append(const WriteBatch& source) {
  const std::uint64_t count = count_in(source.rep_);
  const std::size_t bytes = source.rep_.size() - count_bytes;
  rep_.append(source.rep_, count_bytes, bytes);
  set_count(rep_, count_in(rep_) + count);
}

WriteBatch::Mark WriteBatch::mark() const { return {rep_.size(), count_in(rep_)}; }

void WriteBatch::return_to(const Mark& to) {
  rep_.resize(to.bytes);
  set_count(rep_, to.count);
}

WriteBatch WriteBatch::from_bytes(std::string_view bytes) {
  WriteBatch made;
  made.rep_ = bytes;
  if (bytes.size() < count_bytes) {
    made.rep_.assign(count_bytes, '\xff');  // a count that does not match
  }
  return made;
}

Status WriteBatch::Iterate(Handler* handler) const {
  return replay(rep_, *handler, [](const Slice&, const Slice&) {
    return Status::NotSupported(
        "a write batch contains a deletion of a range, which its handler does not support");
  });
}

Status WriteBatch::Iterate(RangeHandler* handler) const {
  return replay(rep_, *handler, [handler](const Slice& begin, const Slice& end) {
    handler->DeleteRange(begin, end);
    return Status::OK();
  });
}

}  // namespace OUTLAST_DB_NAMESPACE
