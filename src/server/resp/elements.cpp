// The elements of hashes, sets and sorted sets as parts of an item.
#include <outlast/base/error.hpp>

#include <src/server/resp/changes.hpp>
#include <src/server/resp/elements.hpp>
#include <src/server/resp/part_names.hpp>
#include <src/server/resp/refusal.hpp>

#include <limits>
#include <optional>
#include <random>
#include <utility>

namespace outlast::server::resp {
namespace {

/// The value of an item with elements: their number and the key of the hash.
constexpr std::size_t summary_bytes = 3 * part_names::number_bytes;

base::hash_key new_hash_key() {
  std::random_device source;
  const auto word = [&] { return std::uint64_t{source()} << 32U | source(); };
  const std::uint64_t first = word();
  return {first, word()};
}

}  // namespace

void copy_budget::take(std::size_t bytes) {
  if (bytes > left_) {
    throw refusal(
        "ERR the elements are longer than the limit of this command; use fewer keys or a "
        "smaller range");
  }
  left_ -= bytes;
}

elements::elements(const item& of, item_parts& parts, item_type wanted) : parts_(&parts), key_{} {
  require_type(of, wanted);
  if (of.value.size() != summary_bytes) {
    throw error(errc::corrupted, "", "the value of an item with elements has a wrong size");
  }
  size_ = part_names::little_endian(of.value);
  key_.first = part_names::little_endian(of.value.substr(part_names::number_bytes));
  key_.second = part_names::little_endian(of.value.substr(2 * part_names::number_bytes));
}

std::string elements::name_of(std::string_view name) const {
  return part_names::name_of(part_names::kind::element, base::sip_hash<1, 3>(key_, name), name);
}

bool elements::read(std::string_view name, item_parts::reader look) const {
  return size_ != 0 && parts_->read(name_of(name), look);
}

bool elements::has(std::string_view name) const {
  return read(name, [](std::string_view) {});
}

void elements::walk(visitor visit) const {
  walk_from(0, [&](std::uint64_t, std::string_view name, std::string_view value) {
    return visit(name, value);
  });
}

void elements::walk_from(std::uint64_t from, place_visitor visit) const {
  using part_names::kind;
  parts_->walk(
      part_names::name_of(kind::element, from), [&](std::string_view name, std::string_view value) {
        return part_names::is_name(kind::element, name) &&
               visit(part_names::number_in(name), name.substr(part_names::head_bytes), value);
      });
}

void elements::walk_back_from(std::uint64_t from, place_visitor visit) const {
  using part_names::kind;
  const std::string before = from == std::numeric_limits<std::uint64_t>::max()
                                 ? part_names::name_of(kind::order, 0)
                                 : part_names::name_of(kind::element, from + 1);
  parts_->walk_back(before, [&](std::string_view name, std::string_view value) {
    return part_names::is_name(kind::element, name) &&
           visit(part_names::number_in(name), name.substr(part_names::head_bytes), value);
  });
}

edited_elements::edited_elements(const item* old, item_parts& parts, item_type type)
    : elements(old != nullptr ? elements(*old, parts, type) : elements(parts, new_hash_key())),
      old_(old),
      type_(type) {}

edited_elements::edited_elements(item_parts& parts, item_type type)
    : elements(parts, new_hash_key()), old_(nullptr), type_(type) {
  parts.clear();
}

bool edited_elements::put(std::string_view name, std::string_view value) {
  const std::string whole = name_of(name);
  const bool is_new = size_ == 0 || !parts_->read(whole, [](std::string_view) {});
  parts_->put(whole, value);
  size_ += is_new ? 1 : 0;
  is_changed_ = true;
  return is_new;
}

void edited_elements::replace(std::string_view name, std::string_view value) {
  parts_->put(name_of(name), value);
  is_changed_ = true;
}

bool edited_elements::remove(std::string_view name) {
  std::string whole = name_of(name);
  if (removed_.contains(whole) || !has(name)) return false;
  removed_.insert(std::move(whole));
  --size_;
  is_changed_ = true;
  return true;
}

void edited_elements::put_part(std::string_view name, std::string_view value) {
  parts_->put(name, value);
}

void edited_elements::remove_part(std::string name) { removed_.insert(std::move(name)); }

void edited_elements::remove_part_now(std::string_view name) { parts_->erase(name); }

item_change edited_elements::finish() {
  if (!is_changed_) return nothing();
  if (size_ == 0) return erased();
  for (const std::string& name : removed_) parts_->erase(name);
  summary_.clear();
  part_names::add_little_endian(summary_, size_);
  part_names::add_little_endian(summary_, key_.first);
  part_names::add_little_endian(summary_, key_.second);
  item_change made = revalued(old_, summary_);
  made.type = static_cast<std::uint8_t>(type_);
  return made;
}

bool read_elements(session& to, std::string_view key, item_type type,
                   base::function_ref<void(const elements&)> work) {
  return to.look_parts(key, to.how(), [&](const item& seen, item_parts& parts) {
    work(elements(seen, parts, type));
  });
}

change_result edit_elements(session& to, std::string_view key, item_type type,
                            base::function_ref<void(edited_elements&)> work) {
  std::optional<edited_elements> edited;  // The change refers to it.
  return to.change_parts(key, [&](const item* old, item_parts& parts) {
    edited.emplace(old, parts, type);
    work(*edited);
    return edited->finish();
  });
}

void replace_elements(session& to, std::string_view key, item_type type,
                      base::function_ref<void(edited_elements&)> work) {
  std::optional<edited_elements> edited;
  to.change_parts(key, [&](const item*, item_parts& parts) {
    edited.emplace(parts, type);
    work(*edited);
    return edited->finish();
  });
}

}  // namespace outlast::server::resp
