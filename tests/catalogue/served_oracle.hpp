// The specification of a server's engine: what requests of clients do to items and to one hash.
#pragma once

#include <outlast/base/hash.hpp>
#include <outlast/verify/checkers/oracle.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace outlast::verify::detail {

enum class served_operation : std::uint8_t {
  set,           ///< stores the first key; ok
  set_expiring,  ///< stores the key that can expire, with a time; ok
  get,           ///< ok and the value
  get_late,      ///< as get, after that time
  erase,         ///< ok if present
  increment,     ///< adds 1; ok and the new value if present
  append,        ///< adds a digit; ok if present
  compare,     ///< reads the number of an item, and stores if it is the same; ok and the old value
  touch,       ///< gives the key that can expire a time; ok if present
  sweep,       ///< removes what has expired; ok
  set_both,    ///< MULTI: stores both keys; ok
  move,        ///< MULTI: erases the first key and stores the second one; ok if it was present
  get_both,    ///< MULTI: ok and a hash of both values
  flush,       ///< removes everything; ok
  put_part,    ///< stores a field of the hash; ok if it is new
  put_parts,   ///< stores two fields by one command; ok
  erase_part,  ///< removes a field; ok if present
  erase_hash,  ///< removes the hash; ok if present
  get_parts,   ///< ok and a hash of all fields if the hash is present
};

/// States are maps. An item is twice its number, plus 1 if it can expire. The fields of the hash
/// follow the keys. A call that finds no memory has no effect, except the first half of set_both.
/// Thread-safety: immutable, any number of threads.
class served_oracle final : public stepwise_oracle {
 public:
  using kind = served_operation;

  static constexpr std::uint64_t expiring_key = 1;
  static constexpr std::uint64_t first_field = 1000;
  static constexpr std::uint64_t fields = 2;
  /// The value of the result of a request that was refused.
  static constexpr std::uint64_t refused = ~std::uint64_t{0};
  static constexpr outcome without_memory{.ok = false, .value = refused};
  static constexpr std::uint64_t digit = 7;  ///< that append adds

  /// The number of a call, its protocol, and the change of the space that fails (0: none).
  static std::uint64_t number(const call& what) noexcept { return what.argument & 0xffffffff; }
  static bool is_resp(const call& what) noexcept { return (what.argument >> 32 & 1) != 0; }
  static unsigned failing(const call& what) noexcept {
    return static_cast<unsigned>(what.argument >> 33);
  }
  static std::uint64_t first(const call& what) noexcept { return what.key & 0xffffffff; }
  static std::uint64_t second(const call& what) noexcept { return what.key >> 32; }
  static kind kind_of(const call& what) noexcept { return static_cast<kind>(what.kind); }
  static call make(kind what, std::uint64_t first, std::uint64_t second, std::uint64_t number,
                   bool is_resp = false, unsigned failing = 0) noexcept {
    return {static_cast<std::uint8_t>(what), first | second << 32,
            number | std::uint64_t{is_resp} << 32 | std::uint64_t{failing} << 33};
  }
  /// Returns the hash of two values, or of some fields, in a result.
  static std::uint64_t joined(std::uint64_t before, std::optional<std::uint64_t> value) noexcept {
    return base::mix64(before * 31 + (value ? *value + 1 : 0)) >> 1;
  }

  /// `has_parts`: draws operations on the hash.
  explicit served_oracle(bool has_parts) : has_parts_(has_parts) {}

  [[nodiscard]] std::optional<abstract_state> step(const abstract_state& before,
                                                   const event& e) const override {
    const auto [after, result] = effect(before, e.what);
    if (e.pending()) return after;
    // Another client may have changed the item in between, also to the same value.
    if (kind_of(e.what) == kind::compare && e.result == outcome{}) return before;
    if (result != e.result) return std::nullopt;
    return after;
  }

  [[nodiscard]] bool changes(const call& what) const override {
    switch (kind_of(what)) {
      case kind::get:
      case kind::get_late:
      case kind::get_both:
      case kind::get_parts: return false;
      default: return true;
    }
  }

  [[nodiscard]] call draw(random& source, const scope& within,
                          std::uint64_t serial) const override {
    const std::uint64_t keys = std::max(2U, within.keys);
    const std::uint64_t one = 1 + source.below(keys);
    const std::uint64_t other = 1 + (one + source.below(keys - 1)) % keys;
    const kind what = draw_kind(source);
    const bool is_resp = source.one_in(2);
    unsigned failing = 0;
    if (can_fail(what) && source.one_in(8)) failing = what == kind::set_both ? 2 : 1;
    switch (what) {
      case kind::set_both:
      case kind::move:
      case kind::get_both: return make(what, one, other, 100 + serial, true, failing);
      case kind::set_expiring:
      case kind::touch: return make(what, expiring_key, 0, 100 + serial, is_resp, failing);
      case kind::put_part:
      case kind::erase_part:
        return make(what, first_field + source.below(fields), 0, 100 + serial, true, failing);
      case kind::sweep:
      case kind::flush:
      case kind::put_parts:
      case kind::erase_hash:
      case kind::get_parts: return make(what, 0, 0, 100 + serial, is_resp, failing);
      default: return make(what, one, 0, 100 + serial, is_resp, failing);
    }
  }

  [[nodiscard]] std::string describe(const call& what) const override {
    static constexpr const char* names[] = {
        "set",      "set_expiring", "get",        "get_late",   "erase",    "increment", "append",
        "compare",  "touch",        "sweep",      "set_both",   "move",     "get_both",  "flush",
        "put_part", "put_parts",    "erase_part", "erase_hash", "get_parts"};
    std::string text = names[what.kind];
    text += '(' + std::to_string(first(what));
    if (second(what) != 0) text += ", " + std::to_string(second(what));
    text += "; " + std::to_string(number(what));
    if (is_resp(what)) text += ", RESP";
    if (failing(what) != 0) text += ", change " + std::to_string(failing(what)) + " fails";
    return text + ')';
  }
  [[nodiscard]] std::string describe(const abstract_state& state) const override {
    return map_to_text(state);
  }

 private:
  using effect_type = std::pair<abstract_state, outcome>;
  using optional_value = std::optional<std::uint64_t>;

  [[nodiscard]] kind draw_kind(random& source) const {
    using enum served_operation;
    static constexpr kind of_items[] = {set,   set,      set_expiring, get,    get,      get_late,
                                        erase, erase,    increment,    append, compare,  touch,
                                        sweep, set_both, set_both,     move,   get_both, flush};
    static constexpr kind of_parts[] = {put_part,   put_part,   put_parts,  put_parts,
                                        erase_part, erase_hash, erase_hash, get_parts};
    if (has_parts_ && source.one_in(2)) return of_parts[source.below(std::size(of_parts))];
    return of_items[source.below(std::size(of_items))];
  }
  /// Returns true if a failure of one change of the space has one result.
  static bool can_fail(kind what) noexcept {
    switch (what) {
      case kind::set:
      case kind::set_expiring:
      case kind::erase:
      case kind::increment:
      case kind::append:
      case kind::touch:
      case kind::set_both:
      case kind::put_part:
      case kind::put_parts:
      case kind::erase_hash: return true;
      default: return false;
    }
  }

  static optional_value value_in(const abstract_state& state, std::uint64_t key) {
    const optional_value found = value_of(state, key);
    return found ? optional_value(*found / 2) : std::nullopt;
  }
  static abstract_state with(const abstract_state& state, std::uint64_t key, std::uint64_t value,
                             bool expires = false) {
    return bound(state, key, value * 2 + (expires ? 1 : 0));
  }
  static bool expires(const abstract_state& state, std::uint64_t key) {
    return (value_of(state, key).value_or(0) & 1) != 0;
  }
  static bool has_hash(const abstract_state& state) {
    for (std::uint64_t i = 0; i < fields; ++i) {
      if (value_of(state, first_field + i)) return true;
    }
    return false;
  }
  static outcome found(optional_value value) { return {value.has_value(), value.value_or(0)}; }

  static effect_type effect(const abstract_state& before, const call& what) {
    if (failing(what) == 1) return {before, without_memory};
    return what.kind < static_cast<std::uint8_t>(kind::put_part) ? effect_on_items(before, what)
                                                                 : effect_on_hash(before, what);
  }
  static effect_type effect_on_items(const abstract_state& before, const call& what) {
    const std::uint64_t key = first(what);
    const optional_value value = value_in(before, key);
    const bool expires_late = expires(before, key);
    const auto changed = [&](std::uint64_t to, outcome with_result) -> effect_type {
      if (!value) return {before, {}};
      return {with(before, key, to, expires_late), with_result};
    };
    switch (kind_of(what)) {
      case kind::set: return {with(before, key, number(what)), {true}};
      case kind::set_expiring: return {with(before, key, number(what), true), {true}};
      case kind::get_late: return {before, found(expires_late ? std::nullopt : value)};
      case kind::erase: return {bound(before, key, std::nullopt), {value.has_value()}};
      case kind::increment: return changed(value.value_or(0) + 1, {true, value.value_or(0) + 1});
      case kind::append: return changed(value.value_or(0) * 10 + digit, {true});
      case kind::compare:
        if (!value) return {before, {}};
        return {with(before, key, number(what)), found(value)};
      case kind::touch:
        if (!value) return {before, {}};
        return {with(before, key, *value, true), {true}};
      case kind::sweep:
        return {expires(before, expiring_key) ? bound(before, expiring_key, std::nullopt) : before,
                {true}};
      case kind::flush: return {{}, {true}};
      default: return effect_on_two(before, what, value);
    }
  }
  static effect_type effect_on_two(const abstract_state& before, const call& what,
                                   optional_value value) {
    const abstract_state stored = with(before, first(what), number(what));
    switch (kind_of(what)) {
      case kind::set_both:
        if (failing(what) == 2) return {stored, without_memory};
        return {with(stored, second(what), number(what)), {true}};
      case kind::move:
        return {with(bound(before, first(what), std::nullopt), second(what), number(what)),
                {value.has_value()}};
      case kind::get_both:
        return {before, {true, joined(joined(0, value), value_in(before, second(what)))}};
      default: return {before, found(value)};
    }
  }
  static effect_type effect_on_hash(const abstract_state& before, const call& what) {
    const std::uint64_t field = first(what);
    switch (kind_of(what)) {
      case kind::put_part:
        return {with(before, field, number(what)), {!value_in(before, field).has_value()}};
      case kind::put_parts: {
        abstract_state after = before;
        for (std::uint64_t i = 0; i < fields; ++i)
          after = with(after, first_field + i, number(what));
        return {std::move(after), {true}};
      }
      case kind::erase_part:
        return {bound(before, field, std::nullopt), {value_in(before, field).has_value()}};
      case kind::erase_hash: {
        abstract_state after = before;
        for (std::uint64_t i = 0; i < fields; ++i)
          after = bound(after, first_field + i, std::nullopt);
        return {std::move(after), {has_hash(before)}};
      }
      default: {
        if (!has_hash(before)) return {before, {}};
        std::uint64_t all = 0;
        for (std::uint64_t i = 0; i < fields; ++i)
          all = joined(all, value_in(before, first_field + i));
        return {before, {true, all}};
      }
    }
  }

  bool has_parts_;
};

}  // namespace outlast::verify::detail
