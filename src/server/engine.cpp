// The engine of a server for C: spaces, conversations and errors.
#include <outlast/server/engine.h>
#include <outlast/base/error.hpp>
#include <outlast/base/per_thread.hpp>
#include <outlast/db/db.hpp>
#include <outlast/epoch/bounded_cache.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/server/cached_items.hpp>
#include <outlast/server/conversation.hpp>
#include <outlast/server/memcached.hpp>
#include <outlast/server/resp.hpp>
#include <outlast/server/stored_items.hpp>
#include <src/server/stored/status_errors.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace outlast::server::c_engine {
/// The files of a space. The class is in the named namespace, because `outlast_space` has it.
class engine_files {
 public:
  engine_files() = default;
  engine_files(const engine_files&) = delete;
  engine_files& operator=(const engine_files&) = delete;
  virtual ~engine_files() = default;
  virtual item_space& items() = 0;
  virtual void make_durable() = 0;
  virtual void sweep(std::int64_t now_ms, std::size_t count) = 0;
};

namespace {

/// Throws the error of an opening. A status has no codes for two of them.
void require_opened(const db::Status& status, const std::string& directory) {
  if (status.ok()) return;
  const std::string text = status.ToString();
  const auto has = [&](std::string_view part) { return text.find(part) != std::string::npos; };
  if (status.IsIOError() && has("lock " + directory + "/LOCK")) {
    throw error(errc::already_open, directory, text);
  }
  if (status.IsNotFound() || (status.IsInvalidArgument() && has("does not exist"))) {
    throw error(errc::not_found, directory, text);
  }
  stored::require(status, directory);
}

std::unique_ptr<db::DB> open_store(const std::string& directory,
                                   const outlast_store_options& options) {
  db::Options usual;
  usual.create_if_missing = options.must_exist == 0;
  db::StoreOptions more;
  more.capacity_bytes = options.capacity_bytes;
  if (options.max_unsynced_us != 0) {
    more.max_unsynced_time = std::chrono::microseconds(options.max_unsynced_us);
  }
  db::DB* opened = nullptr;
  require_opened(db::DB::Open(usual, more, directory, &opened), directory);
  return std::unique_ptr<db::DB>(opened);
}

class engine_store final : public engine_files {
 public:
  engine_store(const std::string& directory, const outlast_store_options& options)
      : store_(open_store(directory, options)),
        items_(*store_, {.path = directory,
                         .sync = options.sync != 0,
                         .is_durable_at_return = options.is_durable_at_return != 0}) {}

  item_space& items() override { return items_; }
  void make_durable() override { items_.make_durable(); }
  void sweep(std::int64_t now_ms, std::size_t count) override { items_.sweep(now_ms, count); }

 private:
  std::unique_ptr<db::DB> store_;
  stored_items items_;
};

class engine_cache final : public engine_files {
  using cache = epoch::bounded_cache;

 public:
  engine_cache(const std::string& file, const outlast_cache_options& options)
      : pool_(cache::pool_type::open_or_create(file, pool_options_of(options))),
        cache_(pool_, "items", {.limit_bytes = options.limit_bytes}),
        items_(cache_) {}

  item_space& items() override { return items_; }
  void make_durable() override { cache_.sync(); }
  void sweep(std::int64_t now_ms, std::size_t count) override {
    cursor_ = cache_.sweep(cursor_, count, now_ms);
  }

 private:
  static pool_options pool_options_of(const outlast_cache_options& options) {
    pool_options made;
    made.capacity_bytes = options.capacity_bytes;
    if (made.capacity_bytes != 0) made.size_bytes = std::min(made.size_bytes, made.capacity_bytes);
    return made;
  }

  cache::pool_type pool_;
  cache cache_;
  cached_items<cache::policy_type> items_;
  std::uint64_t cursor_ = 0;
};

/// The text of a thread's last failure. It has a fixed size, so that a lack of memory can be
/// described.
struct error_text {
  std::array<char, 512> bytes{};
};

/// Returns the texts of all threads. They are never destroyed, because a thread may read its text
/// while the process ends.
base::per_thread<error_text>& error_texts_of_threads() {
  static auto* const all = new base::per_thread<error_text>(
      [](std::uint32_t) { return std::make_unique<error_text>(); });
  return *all;
}

error_text* own_error_text() noexcept {
  try {
    return error_texts_of_threads().local_or_null();
  } catch (const std::exception&) {
    return nullptr;
  }
}

int fail(outlast_code code, std::string_view text) noexcept {
  error_text* const mine = own_error_text();
  if (mine == nullptr) return code;
  const std::size_t size = std::min(text.size(), mine->bytes.size() - 1);
  text.copy(mine->bytes.data(), size);
  mine->bytes[size] = '\0';
  return code;
}

outlast_code code_of(errc reason) noexcept {
  switch (reason) {
    case errc::bad_argument:
    case errc::too_small: return outlast_bad_argument;
    case errc::no_space:
    case errc::pool_full:
    case errc::roots_exhausted: return outlast_no_space;
    case errc::not_found: return outlast_not_found;
    case errc::already_open: return outlast_in_use;
    case errc::not_a_pool:
    case errc::newer_version:
    case errc::foreign_machine:
    case errc::root_type_mismatch:
    case errc::refused: return outlast_refused;
    case errc::truncated:
    case errc::header_damaged:
    case errc::corrupted:
    case errc::torn_by_machine_crash:
    case errc::torn_by_copying: return outlast_damaged;
    case errc::read_only:
    case errc::io_failure: return outlast_io_failure;
    default: return outlast_failed;
  }
}

/// Calls work() and returns outlast_ok, or the code of its exception.
template <class Work>
int without_exceptions(Work&& work) noexcept {
  try {
    work();
    return outlast_ok;
  } catch (const error& failure) {
    return fail(code_of(failure.reason()), failure.what());
  } catch (const out_of_space& full) {
    return fail(outlast_no_space, full.what());
  } catch (const std::bad_alloc&) {
    return fail(outlast_out_of_memory, "memory is exhausted");
  } catch (const std::exception& other) {
    return fail(outlast_failed, other.what());
  } catch (...) {
    return fail(outlast_failed, "an exception without a text");
  }
}

}  // namespace
}  // namespace outlast::server::c_engine

struct outlast_space {
  std::unique_ptr<outlast::server::c_engine::engine_files> files;
  outlast::server::memcached_options memcached_options;
  outlast::server::memcached_counters memcached_counters;
  outlast::server::resp_options resp_options;
  outlast::server::resp_counters resp_counters;
  std::atomic<std::uint64_t> conversations{0};
};

struct outlast_conversation {
  outlast_space* space = nullptr;
  std::unique_ptr<outlast::server::conversation> protocol;
  std::string replies;
  bool has_failed = false;
};

namespace outlast::server::c_engine {
namespace {

template <class Files, class Options>
int open_space(const char* path, const Options* options, outlast_space** space) noexcept {
  if (space == nullptr) return fail(outlast_bad_argument, "the parameter space is NULL");
  *space = nullptr;
  if (path == nullptr) return fail(outlast_bad_argument, "the path is NULL");
  return without_exceptions([&] {
    const Options usual{};
    auto made = std::make_unique<outlast_space>();
    made->files = std::make_unique<Files>(path, options == nullptr ? usual : *options);
    *space = made.release();
  });
}

}  // namespace
}  // namespace outlast::server::c_engine

namespace c_engine = outlast::server::c_engine;

extern "C" {

int outlast_space_open_store(const char* directory, const outlast_store_options* options,
                             outlast_space** space) {
  return c_engine::open_space<c_engine::engine_store>(directory, options, space);
}

int outlast_space_open_cache(const char* file, const outlast_cache_options* options,
                             outlast_space** space) {
  return c_engine::open_space<c_engine::engine_cache>(file, options, space);
}

int outlast_space_close(outlast_space* space) {
  if (space == nullptr) return outlast_ok;
  if (space->conversations.load(std::memory_order_acquire) != 0) {
    return c_engine::fail(outlast_in_use, "the space has conversations; close them first");
  }
  return c_engine::without_exceptions([&] { delete space; });
}

uint64_t outlast_space_durable_token(const outlast_space* space) {
  return space == nullptr ? 0 : space->files->items().durable_token();
}

int outlast_space_make_durable(outlast_space* space) {
  if (space == nullptr) return c_engine::fail(outlast_bad_argument, "the space is NULL");
  return c_engine::without_exceptions([&] { space->files->make_durable(); });
}

int outlast_space_sweep(outlast_space* space, int64_t now_ms, size_t count) {
  if (space == nullptr) return c_engine::fail(outlast_bad_argument, "the space is NULL");
  return c_engine::without_exceptions([&] { space->files->sweep(now_ms, count); });
}

int outlast_conversation_open(outlast_space* space, int protocol,
                              outlast_conversation** conversation) {
  if (conversation == nullptr) return c_engine::fail(outlast_bad_argument, "conversation is NULL");
  *conversation = nullptr;
  if (space == nullptr) return c_engine::fail(outlast_bad_argument, "the space is NULL");
  if (protocol != outlast_memcached && protocol != outlast_resp) {
    return c_engine::fail(outlast_bad_argument,
                          "the protocol must be outlast_memcached or outlast_resp");
  }
  return c_engine::without_exceptions([&] {
    auto made = std::make_unique<outlast_conversation>();
    outlast::server::item_space& items = space->files->items();
    made->space = space;
    made->protocol = protocol == outlast_resp
                         ? outlast::server::make_resp_conversation(items, space->resp_options,
                                                                   space->resp_counters)
                         : outlast::server::make_memcached_conversation(
                               items, space->memcached_options, space->memcached_counters);
    space->conversations.fetch_add(1, std::memory_order_relaxed);
    *conversation = made.release();
  });
}

void outlast_conversation_close(outlast_conversation* conversation) {
  if (conversation == nullptr) return;
  outlast_space* const space = conversation->space;
  delete conversation;
  space->conversations.fetch_sub(1, std::memory_order_release);
}

int outlast_feed(outlast_conversation* conversation, const char* bytes, size_t length,
                 int64_t now_ms, outlast_fed* out) {
  if (out == nullptr) return c_engine::fail(outlast_bad_argument, "the parameter out is NULL");
  *out = outlast_fed{};
  out->replies = "";
  if (conversation == nullptr || (bytes == nullptr && length != 0)) {
    return c_engine::fail(outlast_bad_argument, "the conversation or the bytes are NULL");
  }
  if (conversation->has_failed) {
    return c_engine::fail(outlast_bad_argument, "the conversation has failed before; close it");
  }
  std::string& replies = conversation->replies;
  const int code = c_engine::without_exceptions([&] {
    constexpr std::size_t max_kept_bytes = std::size_t{1} << 20;
    if (replies.capacity() > max_kept_bytes) std::string().swap(replies);
    replies.clear();
    const outlast::server::fed done =
        conversation->protocol->feed({bytes, length}, now_ms, replies);
    out->taken = done.taken;
    out->version = done.version;
    out->waits = done.waits ? 1 : 0;
    out->closes = done.closes ? 1 : 0;
    out->pauses = done.pauses ? 1 : 0;
  });
  conversation->has_failed = code != outlast_ok;
  if (conversation->has_failed) {
    out->closes = 1;
    return code;
  }
  out->replies = replies.data();
  out->replies_bytes = replies.size();
  return code;
}

const char* outlast_last_error(void) {
  const c_engine::error_text* const mine = c_engine::own_error_text();
  return mine == nullptr ? "memory is exhausted" : mine->bytes.data();
}

}  // extern "C"
