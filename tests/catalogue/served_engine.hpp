// A server's engine as scenarios see it: each call is the bytes of a request to a conversation.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/base/thread_context.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/server/conversation.hpp>
#include <outlast/server/items.hpp>
#include <outlast/server/memcached.hpp>
#include <outlast/server/resp.hpp>
#include <tests/catalogue/served_oracle.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::verify::detail {

/// Times of calls. Items that can expire do so between these.
inline constexpr std::int64_t served_early_ms = 1'700'000'000'000;
inline constexpr std::int64_t served_late_ms = served_early_ms + 100'000;

/// The items of another space, of whose changes one can fail: memory is exhausted after the
/// decision, under the locks of the space. Thread-safety: one thread.
class items_without_memory final : public server::item_space {
 public:
  explicit items_without_memory(server::item_space& of) : of_(of) {}

  /// Lets the change with this number fail, counted from 1. 0: none.
  void fail(unsigned number) noexcept { left_ = number; }

  bool read(std::string_view key, std::int64_t now_ms, server::use how, reader look) override {
    return of_.read(key, now_ms, how, look);
  }
  server::change_result modify(std::string_view key, std::int64_t now_ms, decider decide) override {
    const bool fails = left_ != 0 && --left_ == 0;
    return of_.modify(key, now_ms, [&](const server::item* old) {
      const server::item_change then = decide(old);
      if (fails) throw_for(key);
      return then;
    });
  }
  [[nodiscard]] bool has_parts() const override { return of_.has_parts(); }
  bool read_parts(std::string_view key, std::int64_t now_ms, server::use how,
                  parts_reader look) override {
    return of_.read_parts(key, now_ms, how, look);
  }
  server::change_result modify_parts(std::string_view key, std::int64_t now_ms,
                                     parts_decider decide) override {
    const bool fails = left_ != 0 && --left_ == 0;
    return of_.modify_parts(key, now_ms, [&](const server::item* old, server::item_parts& parts) {
      const server::item_change then = decide(old, parts);
      if (fails) throw_for(key);
      return then;
    });
  }
  void together(base::function_ref<void()> work) override { of_.together(work); }
  server::token erase_all(std::int64_t now_ms, std::int64_t from_ms) override {
    return of_.erase_all(now_ms, from_ms);
  }
  std::uint64_t scan(std::uint64_t cursor, std::size_t count, std::int64_t now_ms,
                     visitor visit) override {
    return of_.scan(cursor, count, now_ms, visit);
  }
  [[nodiscard]] std::uint64_t items() const override { return of_.items(); }
  [[nodiscard]] std::uint64_t bytes() const override { return of_.bytes(); }
  [[nodiscard]] std::uint64_t limit_bytes() const override { return of_.limit_bytes(); }
  [[nodiscard]] std::uint64_t evictions() const override { return of_.evictions(); }
  [[nodiscard]] server::token durable_token() const override { return of_.durable_token(); }
  [[nodiscard]] server::token present_token() const override { return of_.present_token(); }
  [[nodiscard]] std::string guarantee() const override { return of_.guarantee(); }

 private:
  /// A lack of ordinary memory ends the connection, and a lack of space is an error reply.
  [[noreturn]] static void throw_for(std::string_view key) {
    if (key.back() % 2 == 0) throw std::bad_alloc();
    throw out_of_space("no space in the pool of a test");
  }

  server::item_space& of_;
  unsigned left_ = 0;
};

/// The connections of each thread, one of each protocol, to one space.
/// Thread-safety: threads of the simulator may call apply() concurrently.
class served_engine {
  using kind = served_operation;

 public:
  /// `sweep`: removes all that has expired at a time.
  served_engine(server::item_space& items, std::function<void(std::int64_t)> sweep)
      : items_(items), sweep_(std::move(sweep)) {}

  outcome apply(const call& what) {
    connection& mine = connections_[base::this_thread().slot];
    if (mine.memcached == nullptr) connect(mine);
    mine.version = 0;
    mine.items->fail(served_oracle::failing(what));
    outcome result;
    try {
      result = answer(mine, what);
    } catch (const std::bad_alloc&) {
      connect(mine);
      result = served_oracle::without_memory;
    }
    mine.items->fail(0);
    // A refusal promises nothing about the first half of a transaction.
    if (result.value != served_oracle::refused) result.token = mine.version;
    return result;
  }

  /// Returns all items, and the fields of the hash.
  abstract_state observe() {
    std::map<std::uint64_t, std::uint64_t> all;
    bool has_hash = false;
    for (std::uint64_t at = 0;;) {
      at = items_.scan(at, 1, served_early_ms, [&](std::string_view key, const server::item& of) {
        if (key == hash_name) {
          has_hash = true;
          return;
        }
        const std::uint64_t number = number_in(of.value);
        all[number_in(key.substr(1))] = number * 2 + (of.expires_ms == 0 ? 0 : 1);
      });
      if (at == 0) break;
    }
    if (has_hash) add_fields(all);
    abstract_state state;
    for (const auto& [key, value] : all) state.insert(state.end(), {key, value});
    return state;
  }
  [[nodiscard]] std::uint64_t visit_items(const std::function<void(std::string_view)>& visit) {
    std::uint64_t count = 0;
    for (std::uint64_t at = 0;;) {
      at = items_.scan(at, 1, served_early_ms, [&](std::string_view key, const server::item&) {
        visit(key);
        ++count;
      });
      if (at == 0) return count;
    }
  }

 private:
  static constexpr std::string_view hash_name = "h";
  /// Of a value that no request has stored.
  static constexpr std::uint64_t torn = ~std::uint64_t{0} >> 2;

  struct connection {
    std::unique_ptr<items_without_memory> items;
    std::unique_ptr<server::conversation> memcached;
    std::unique_ptr<server::conversation> resp;
    server::token version = 0;
  };

  void connect(connection& made) {
    made.memcached.reset();
    made.resp.reset();
    made.items = std::make_unique<items_without_memory>(items_);
    made.memcached =
        server::make_memcached_conversation(*made.items, memcached_options_, memcached_counters_);
    made.resp = server::make_resp_conversation(*made.items, resp_options_, resp_counters_);
  }

  static std::uint64_t number_in(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    return failed == std::errc() && end == text.data() + text.size() ? number : torn;
  }
  static std::string key_of(std::uint64_t key) { return "k" + std::to_string(key); }
  static std::string field_of(std::uint64_t field) { return "f" + std::to_string(field); }
  /// A value of a field is longer than a line, and its halves are the same.
  static std::string field_value(std::uint64_t number) {
    const std::string half = std::string(36, '.') + std::to_string(number);
    return half + half;
  }
  static std::uint64_t number_in_field(std::string_view value) {
    const std::string_view half = value.substr(0, value.size() / 2);
    const std::size_t at = half.find_first_not_of('.');
    if (at == std::string_view::npos) return torn;
    const std::uint64_t number = number_in(half.substr(at));
    return value == field_value(number) ? number : torn;
  }

  std::string send(connection& mine, bool is_resp, const std::string& bytes,
                   std::int64_t now_ms = served_early_ms) {
    std::string replies;
    const server::fed done = (is_resp ? mine.resp : mine.memcached)->feed(bytes, now_ms, replies);
    mine.version = std::max(mine.version, done.version);
    return replies;
  }
  std::string memcached(connection& mine, const std::string& line,
                        std::int64_t now_ms = served_early_ms) {
    return send(mine, false, line + "\r\n", now_ms);
  }
  static std::string request(std::initializer_list<std::string> words) {
    std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string& word : words) {
      bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    }
    return bytes;
  }
  std::string resp(connection& mine, std::initializer_list<std::string> words,
                   std::int64_t now_ms = served_early_ms) {
    return send(mine, true, request(words), now_ms);
  }
  /// Sends a transaction, and returns the replies of its commands.
  std::string transaction(connection& mine, const std::string& one, const std::string& other) {
    const std::string replies =
        send(mine, true, request({"MULTI"}) + one + other + request({"EXEC"}));
    constexpr std::string_view before = "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n";
    return replies.starts_with(before) ? replies.substr(before.size()) : replies;
  }

  static bool is_refusal(std::string_view reply) {
    return reply.find("SERVER_ERROR out of memory") != std::string_view::npos ||
           reply.find("-OOM ") != std::string_view::npos;
  }
  /// Returns the result of a reply that is one of two texts.
  static outcome either(const std::string& reply, std::string_view yes, std::string_view no) {
    if (is_refusal(reply)) return served_oracle::without_memory;
    if (reply == yes) return {true};
    if (reply == no) return {};
    return {false, torn};
  }
  /// Returns the value of a reply of mg, ma or GET, whose first line ends before the value.
  static outcome value_in(const std::string& reply) {
    if (is_refusal(reply)) return served_oracle::without_memory;
    if (reply == "EN\r\n" || reply == "NF\r\n" || reply == "$-1\r\n") return {};
    const std::size_t at = reply.find("\r\n");
    const std::size_t end = at == std::string::npos ? at : reply.find("\r\n", at + 2);
    if (end == std::string::npos) return {false, torn};
    return {true, number_in(std::string_view(reply).substr(at + 2, end - at - 2))};
  }

  std::string store_line(std::uint64_t key, std::uint64_t number, const std::string& flags) {
    const std::string value = std::to_string(number);
    return "ms " + key_of(key) + " " + std::to_string(value.size()) + flags + "\r\n" + value;
  }
  outcome stored(connection& mine, const call& what, bool expires) {
    const std::uint64_t key = served_oracle::first(what);
    const std::uint64_t number = served_oracle::number(what);
    if (!served_oracle::is_resp(what)) {
      return either(memcached(mine, store_line(key, number, expires ? " T10" : "")), "HD\r\n", "");
    }
    const std::string text = std::to_string(number);
    const std::string reply = expires ? resp(mine, {"SET", key_of(key), text, "EX", "10"})
                                      : resp(mine, {"SET", key_of(key), text});
    return either(reply, "+OK\r\n", "");
  }
  outcome got(connection& mine, const call& what, std::int64_t now_ms) {
    const std::string key = key_of(served_oracle::first(what));
    return value_in(served_oracle::is_resp(what) ? resp(mine, {"GET", key}, now_ms)
                                                 : memcached(mine, "mg " + key + " v", now_ms));
  }
  outcome compared(connection& mine, const call& what) {
    const std::uint64_t key = served_oracle::first(what);
    const std::string there = memcached(mine, "mg " + key_of(key) + " v c");
    const outcome before = value_in(there);
    if (!before.ok) return before;
    const std::size_t at = there.find(" c");
    const std::string number = there.substr(at + 2, there.find("\r\n") - at - 2);
    const outcome done =
        either(memcached(mine, store_line(key, served_oracle::number(what), " C" + number)),
               "HD\r\n", "EX\r\n");
    // The item may be gone since.
    if (!done.ok) return {};
    return before;
  }
  outcome touched(connection& mine, const call& what) {
    const std::string key = key_of(served_oracle::first(what));
    if (served_oracle::is_resp(what)) {
      return either(resp(mine, {"EXPIRE", key, "10"}), ":1\r\n", ":0\r\n");
    }
    return either(memcached(mine, "mg " + key + " T10"), "HD\r\n", "EN\r\n");
  }
  outcome erased(connection& mine, const call& what) {
    const std::string key = key_of(served_oracle::first(what));
    if (served_oracle::is_resp(what)) return either(resp(mine, {"DEL", key}), ":1\r\n", ":0\r\n");
    return either(memcached(mine, "md " + key), "HD\r\n", "NF\r\n");
  }

  outcome answer(connection& mine, const call& what) {
    const std::string key = key_of(served_oracle::first(what));
    switch (served_oracle::kind_of(what)) {
      case kind::set: return stored(mine, what, false);
      case kind::set_expiring: return stored(mine, what, true);
      case kind::get: return got(mine, what, served_early_ms);
      case kind::get_late: return got(mine, what, served_late_ms);
      case kind::erase: return erased(mine, what);
      case kind::increment: return value_in(memcached(mine, "ma " + key + " v"));
      case kind::append:
        return either(
            memcached(mine, "ms " + key + " 1 MA\r\n" + std::to_string(served_oracle::digit)),
            "HD\r\n", "NS\r\n");
      case kind::compare: return compared(mine, what);
      case kind::touch: return touched(mine, what);
      case kind::sweep: sweep_(served_late_ms); return {true};
      case kind::flush:
        return served_oracle::is_resp(what) ? either(resp(mine, {"FLUSHALL"}), "+OK\r\n", "")
                                            : either(memcached(mine, "flush_all"), "OK\r\n", "");
      case kind::set_both:
      case kind::move:
      case kind::get_both: return answer_to_two(mine, what);
      default: return answer_about_parts(mine, what);
    }
  }
  outcome answer_to_two(connection& mine, const call& what) {
    const std::string one = key_of(served_oracle::first(what));
    const std::string other = key_of(served_oracle::second(what));
    const std::string text = std::to_string(served_oracle::number(what));
    switch (served_oracle::kind_of(what)) {
      case kind::set_both:
        return either(transaction(mine, request({"SET", one, text}), request({"SET", other, text})),
                      "+OK\r\n+OK\r\n", "");
      case kind::move:
        return either(transaction(mine, request({"DEL", one}), request({"SET", other, text})),
                      ":1\r\n+OK\r\n", ":0\r\n+OK\r\n");
      default: break;
    }
    const std::string both = transaction(mine, request({"GET", one}), request({"GET", other}));
    std::uint64_t all = 0;
    std::size_t at = 0;
    for (unsigned i = 0; i < 2; ++i) {
      const std::size_t head = both.find("\r\n", at);
      if (head == std::string::npos) return {false, torn};
      const bool is_there = both.compare(at, 2, "$-") != 0;
      const std::size_t end = is_there ? both.find("\r\n", head + 2) : head;
      const outcome value = value_in(both.substr(at, end + 2 - at));
      all = served_oracle::joined(all, value.ok ? std::optional(value.value) : std::nullopt);
      at = end + 2;
    }
    return {true, all};
  }
  outcome answer_about_parts(connection& mine, const call& what) {
    const std::string name(hash_name);
    const std::string field = field_of(served_oracle::first(what));
    const std::string value = field_value(served_oracle::number(what));
    switch (served_oracle::kind_of(what)) {
      case kind::put_part:
        return either(resp(mine, {"HSET", name, field, value}), ":1\r\n", ":0\r\n");
      case kind::put_parts: {
        const std::string reply =
            resp(mine, {"HSET", name, field_of(served_oracle::first_field), value,
                        field_of(served_oracle::first_field + 1), value});
        if (is_refusal(reply)) return served_oracle::without_memory;
        return reply.starts_with(":") ? outcome{true} : outcome{false, torn};
      }
      case kind::erase_part: return either(resp(mine, {"HDEL", name, field}), ":1\r\n", ":0\r\n");
      case kind::erase_hash: return either(resp(mine, {"DEL", name}), ":1\r\n", ":0\r\n");
      default: break;
    }
    return joined_fields(resp(mine, {"HMGET", name, field_of(served_oracle::first_field),
                                     field_of(served_oracle::first_field + 1)}));
  }
  /// Returns the result of get_parts. A hash without fields is absent.
  static outcome joined_fields(const std::string& reply) {
    std::size_t at = reply.find("\r\n") + 2;
    std::uint64_t all = 0;
    bool is_there = false;
    for (std::uint64_t i = 0; i < served_oracle::fields; ++i) {
      const std::size_t head = reply.find("\r\n", at);
      if (head == std::string::npos) return {false, torn};
      if (reply.compare(at, 2, "$-") == 0) {
        all = served_oracle::joined(all, std::nullopt);
        at = head + 2;
        continue;
      }
      const std::size_t end = reply.find("\r\n", head + 2);
      all = served_oracle::joined(all, number_in_field(reply.substr(head + 2, end - head - 2)));
      is_there = true;
      at = end + 2;
    }
    return is_there ? outcome{true, all} : outcome{};
  }

  /// Adds the fields of the hash, as a client sees them. Their number is in the item, and the
  /// fields are parts: both must be of one change.
  void add_fields(std::map<std::uint64_t, std::uint64_t>& to) {
    server::resp_options options;
    server::resp_counters counters;
    const auto reader = server::make_resp_conversation(items_, options, counters);
    const auto reply_to = [&](const std::string& bytes) {
      std::string replies;
      static_cast<void>(reader->feed(bytes, served_early_ms, replies));
      return replies;
    };
    const std::string name(hash_name);
    const std::string all = reply_to(request({"HGETALL", name}));
    std::vector<std::string> words;
    for (std::size_t at = all.find("\r\n") + 2; at < all.size();) {
      const std::size_t head = all.find("\r\n", at);
      const std::size_t end = all.find("\r\n", head + 2);
      words.push_back(all.substr(head + 2, end - head - 2));
      at = end + 2;
    }
    for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
      to[number_in(std::string_view(words[i]).substr(1))] = number_in_field(words[i + 1]) * 2;
    }
    const std::string length = ":" + std::to_string(words.size() / 2) + "\r\n";
    if (words.empty() || reply_to(request({"HLEN", name})) != length) {
      to[served_oracle::first_field + served_oracle::fields] = torn;
    }
  }

  server::item_space& items_;
  std::function<void(std::int64_t)> sweep_;
  server::memcached_options memcached_options_;
  server::memcached_counters memcached_counters_;
  server::resp_options resp_options_;
  server::resp_counters resp_counters_;
  std::map<std::uint32_t, connection> connections_;
};

}  // namespace outlast::verify::detail
