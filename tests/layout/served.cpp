#include <tests/layout/served.hpp>

#include <outlast/db/db.hpp>
#include <outlast/db/options.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/epoch/bounded_cache.hpp>
#include <outlast/epoch/clock.hpp>
#include <outlast/server/cached_items.hpp>
#include <outlast/server/conversation.hpp>
#include <outlast/server/memcached.hpp>
#include <outlast/server/resp.hpp>
#include <outlast/server/stored_items.hpp>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace outlast::test {
namespace {

constexpr std::int64_t hour_ms = 3'600'000;
constexpr std::int64_t filled_ms = 1'795'000'000'000;
constexpr std::int64_t read_ms = filled_ms + 24 * hour_ms;

/// The conversations of a server at one time.
class clients {
 public:
  clients(server::item_space& space, std::int64_t now_ms)
      : now_ms_(now_ms),
        memcached_(
            server::make_memcached_conversation(space, memcached_options_, memcached_counters_)),
        resp_(server::make_resp_conversation(space, resp_options_, resp_counters_)) {}

  /// Returns the replies to a request, with '|' for the end of a line.
  std::string memcached(std::string_view request) { return ask(*memcached_, request); }
  std::string resp(std::initializer_list<std::string_view> requests) {
    std::string replies;
    for (const std::string_view each : requests) {
      replies += ask(*resp_, std::string(each) + "\r\n");
    }
    return replies;
  }

 private:
  std::string ask(server::conversation& with, std::string_view request) {
    std::string replies;
    const server::fed done = with.feed(request, now_ms_, replies);
    if (done.taken != request.size() || replies.empty()) {
      throw std::runtime_error("a request was not answered: " + std::string(request));
    }
    for (std::size_t at = 0; (at = replies.find("\r\n", at)) != std::string::npos;) {
      replies.replace(at, 2, "|");
    }
    if (replies.find("ERR") != std::string::npos) throw std::runtime_error(replies);
    return replies;
  }

  std::int64_t now_ms_;
  server::memcached_options memcached_options_;
  server::memcached_counters memcached_counters_;
  server::resp_options resp_options_;
  server::resp_counters resp_counters_;
  std::unique_ptr<server::conversation> memcached_;
  std::unique_ptr<server::conversation> resp_;
};

void fill(server::item_space& space) {
  clients from(space, filled_ms);
  from.memcached("set plain 7 0 5\r\nhello\r\n");
  from.memcached("set gone 0 0 1\r\nx\r\n");
  from.memcached("delete gone\r\n");
  from.memcached("set counter 0 0 2\r\n41\r\n");
  from.memcached("incr counter 1\r\n");
  from.memcached("set long 0 0 5000\r\n" + std::string(4999, 'l') + "Z\r\n");
  from.resp({"SET later later PXAT 4102444800000",
             "SET soon soon PXAT " + std::to_string(filled_ms + hour_ms),
             "MSET first one second two"});
}

void fill_parts(server::item_space& space) {
  clients from(space, filled_ms);
  from.resp({"HSET hash a 1 b 2 c 3", "HDEL hash b", "SADD set x y", "ZADD sorted 1.5 low 20 high",
             "RPUSH list p q r", "HSET erased a 1", "DEL erased", "HSET short a 1",
             "PEXPIRE short 1000"});
}

std::string content(server::item_space& space) {
  clients from(space, read_ms);
  // The unique number of an item that is not changed stays.
  std::string text = from.memcached("gets counter\r\n") +
                     from.memcached("get plain gone soon\r\n") +
                     from.resp({"STRLEN long", "GETRANGE long 4990 -1", "GET later",
                                "PEXPIRETIME later", "MGET first second"});
  if (!space.has_parts()) return text;
  return text +
         from.resp({"HMGET hash a b c", "HLEN hash", "SMISMEMBER set x y z", "SCARD set",
                    "ZRANGE sorted 0 -1 WITHSCORES", "LRANGE list 0 -1", "EXISTS erased short"});
}

/// Returns the unique number of an item.
std::uint64_t number_of(clients& from, const std::string& key) {
  const std::string reply = from.memcached("gets " + key + "\r\n");
  const std::string line = reply.substr(0, reply.find('|'));
  return std::stoull(line.substr(line.rfind(' ') + 1));
}

void change(server::item_space& space) {
  clients from(space, read_ms);
  const std::uint64_t last = number_of(from, "second");
  from.memcached("set plain 9 0 3\r\nnew\r\n");
  if (number_of(from, "plain") <= last) throw std::runtime_error("a number was given again");
  from.resp({"APPEND first s", "DEL second", "SET fresh fresh"});
  if (!space.has_parts()) return;
  from.resp({"HSET hash b 22", "SREM set x", "ZADD sorted 9 middle", "LPUSH list o"});
}

using policy = epoch::buffered<domain::native>;

/// Calls a function with the items of a cache, as outlastd has them.
template <class Work>
auto with_cache(pool& in, Work&& work) {
  epoch::basic_bounded_cache<policy> cache(in, "items", {});
  server::cached_items<policy> items(cache);
  struct synced {
    epoch::clock<domain::native>& clock;
    ~synced() { clock.sync(); }
  } const last{epoch::clock_of(in)};
  return work(items);
}

template <class Work>
auto with_store(const std::string& directory, Work&& work) {
  db::Options usual;
  usual.create_if_missing = true;
  db::DB* opened = nullptr;
  const db::Status status = db::DB::Open(usual, directory, &opened);
  if (!status.ok()) throw std::runtime_error(status.ToString());
  const std::unique_ptr<db::DB> store(opened);
  server::stored_items items(*store, {.path = directory, .sync = true});
  return work(items);
}

}  // namespace

void fill_served_cache(pool& in) {
  with_cache(in, [](server::item_space& items) { fill(items); });
}
std::string content_of_served_cache(pool& in) {
  return with_cache(in, [](server::item_space& items) { return content(items); });
}
void change_served_cache(pool& in) {
  with_cache(in, [](server::item_space& items) { change(items); });
}

void fill_served_store(const std::string& directory, bool has_parts) {
  with_store(directory, [&](server::item_space& items) {
    fill(items);
    if (has_parts) fill_parts(items);
  });
}
std::string content_of_served_store(const std::string& directory) {
  return with_store(directory, [](server::item_space& items) { return content(items); });
}
void change_served_store(const std::string& directory) {
  with_store(directory, [](server::item_space& items) { change(items); });
}

}  // namespace outlast::test
