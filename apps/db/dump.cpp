// outlast db dump and load: writes a store as text or JSON, and reads it back.
#include <apps/db/dump.hpp>

#include <apps/db/meter.hpp>
#include <apps/db/session.hpp>
#include <apps/db/text.hpp>
#include <outlast/db/comparator.hpp>
#include <outlast/db/write_batch.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <istream>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

namespace outlast::apps::db {

using namespace outlast::db;
using nlohmann::ordered_json;

namespace {

constexpr std::string_view first_words = "# outlast dump ";
constexpr std::string_view last_words = "# end, ";
constexpr std::uint64_t known_version = 1;

/// `order`: the name of the comparator.
std::string first_line(const std::string& order, bool json) {
  if (json) {
    return ordered_json{{"outlast_dump", known_version}, {"comparator", escaped(order)}}.dump();
  }
  return std::string(first_words) + std::to_string(known_version) + ", comparator " +
         escaped(order);
}

std::string last_line(std::uint64_t keys, bool json) {
  if (json) return ordered_json{{"end", keys}}.dump();
  return std::string(last_words) + std::to_string(keys) + " keys";
}

/// Reads the lines of a dump. Its error messages have the number of the line.
class dump_reader {
 public:
  dump_reader(std::istream& in, const std::string& name) : in_(in), name_(name) {
    std::string line;
    if (!next(line)) refuse("the dump is empty");
    json_ = line.starts_with('{');
    if (!json_ && !line.starts_with(first_words)) refuse("this is not a dump of outlast db");
    order_name_ = bytes_of(json_ ? order_in_json(line) : order_in_text(line));
    if (line == first_line(order_name_, json_)) return;
    refuse("the dump has another version or comparator; this program reads '" +
           first_line(BytewiseComparator()->Name(), json_) + "'");
  }

  [[nodiscard]] const std::string& order_name() const noexcept { return order_name_; }

  /// Calls put(key, value) for the next entry. Returns false at the end.
  template <class Put>
  bool read_one(Put&& put) {
    std::string line;
    do {
      if (!next(line)) refuse("the dump has no last line; a part of it is missing");
      if (line == last_line(keys_, json_)) return false;
      if (!json_ && line.starts_with(last_words))
        refuse("the dump contains fewer or more keys than this line states");
    } while (!json_ && line.starts_with('#'));
    if (json_) {
      read_json(line, put);
    } else {
      read_text(line, put);
    }
    ++keys_;
    return true;
  }

  [[nodiscard]] std::uint64_t keys() const noexcept { return keys_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  bool next(std::string& line) {
    if (!std::getline(in_, line)) return false;
    ++line_;
    bytes_ += line.size() + 1;
    return true;
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw failure(name_ + ", line " + std::to_string(line_) + ": " + why);
  }
  std::string bytes_of(std::string_view text) const {
    std::optional<std::string> bytes = unescaped(text);
    if (!bytes) refuse("a backslash is followed by neither a backslash nor xNN");
    return *bytes;
  }
  static std::string order_in_text(const std::string& line) {
    constexpr std::string_view before = ", comparator ";
    const std::size_t at = line.find(before);
    return at == std::string::npos ? "" : line.substr(at + before.size());
  }
  static std::string order_in_json(const std::string& line) {
    const auto first = ordered_json::parse(line, nullptr, false);
    const bool has =
        first.is_object() && first.contains("comparator") && first.at("comparator").is_string();
    return has ? first.at("comparator").get<std::string>() : "";
  }
  template <class Put>
  void read_text(std::string_view line, Put& put) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos) refuse("the line has no tab between key and value");
    put(bytes_of(line.substr(0, tab)), bytes_of(line.substr(tab + 1)));
  }
  template <class Put>
  void read_json(const std::string& line, Put& put) {
    const auto entry = ordered_json::parse(line, nullptr, false);
    const auto has = [&](const char* name) {
      return entry.is_object() && entry.contains(name) && entry.at(name).is_string();
    };
    if (!has("key") || !has("value")) refuse("the line is not an object with a key and a value");
    put(bytes_of(entry.at("key").get<std::string>()),
        bytes_of(entry.at("value").get<std::string>()));
  }

  std::istream& in_;
  const std::string& name_;
  std::string order_name_;
  bool json_ = false;
  std::uint64_t line_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t keys_ = 0;
};

}  // namespace

std::string line_of(const Slice& key, const Slice& value, bool json) {
  if (json) {
    return ordered_json{{"key", escaped(key.view())}, {"value", escaped(value.view())}}.dump();
  }
  std::string line = escaped(key.view());
  if (line.starts_with('#')) line.replace(0, 1, "\\x23");  // '#' begins lines without an entry
  return line + '\t' + escaped(value.view());
}

void dump(const store_handle& store, std::ostream& out, const std::string& name, bool json) {
  meter bar("dump", "keys");
  const std::uint64_t about = number_of(*store, "outlast.keys");
  std::uint64_t keys = 0;
  out << first_line(text_of(*store, "outlast.comparator"), json) << '\n';
  visit(store, {}, false, std::numeric_limits<std::uint64_t>::max(),
        [&](const Slice& key, const Slice& value) {
          out << line_of(key, value, json) << '\n';
          if (!out) throw failure(name + ": cannot write; its file system may be full");
          if (++keys % 1024 == 0) bar.advance(keys, about);
        });
  out << last_line(keys, json) << std::endl;
  if (!out) throw failure(name + ": cannot write; its file system may be full");
}

std::uint64_t load(const std::function<store_handle(const std::string&)>& open, std::istream& in,
                   const std::string& name, std::uint64_t bytes) {
  constexpr std::size_t batch_bytes = std::size_t{1} << 20;
  meter bar("load", "bytes");
  dump_reader reader(in, name);
  const store_handle store = open(reader.order_name());
  if (store.order->Name() != reader.order_name()) {
    throw failure(name + ", line 1: its keys are in the order of the comparator '" +
                  escaped(reader.order_name()) + "', and the store's keys in the order of '" +
                  escaped(store.order->Name()) + "'");
  }
  WriteBatch some;
  const auto put = [&](const std::string& key, const std::string& value) { some.Put(key, value); };
  while (reader.read_one(put)) {
    if (some.ApproximateSize() < batch_bytes) continue;
    require_written(store->Write(WriteOptions(), &some));
    some.Clear();
    bar.advance(reader.bytes(), bytes);
  }
  WriteOptions durable;
  durable.sync = true;
  require_written(store->Write(durable, &some));
  return reader.keys();
}

}  // namespace outlast::apps::db
