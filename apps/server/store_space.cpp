// The key space of a server in store mode.
#include <apps/server/key_space.hpp>
#include <outlast/base/error.hpp>
#include <outlast/base/periodic_thread.hpp>
#include <outlast/db/checkpoint.hpp>
#include <outlast/db/db.hpp>
#include <outlast/db/detail/engine.hpp>
#include <outlast/db/options.hpp>
#include <outlast/server/stored_items.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace outlast::apps {
namespace {

/// Opens the store. Throws outlast::error.
std::unique_ptr<db::DB> opened(const std::string& directory) {
  db::Options usual;
  usual.create_if_missing = true;
  db::DB* store = nullptr;
  const db::Status status = db::DB::Open(usual, directory, &store);
  if (status.ok()) return std::unique_ptr<db::DB>(store);
  const std::string text = status.ToString();
  const bool is_locked = text.find("LOCK") != text.npos;
  throw error(is_locked ? errc::already_open : errc::io_failure, directory, text);
}

/// Returns whether writes are durable at return in a directory, over what its medium survives.
/// Creates the directory.
bool is_durable_at_return(const std::string& directory) {
  std::error_code wrong;
  std::filesystem::create_directories(directory, wrong);
  if (wrong) throw error(errc::io_failure, directory, wrong.message());
  return store_detail::medium_of(directory) == store_detail::medium::memory;
}

/// Items in a store, which stay until they are erased or expire.
class store_space final : public key_space {
 public:
  explicit store_space(const std::string& directory)
      : directory_(directory),
        waits_(!is_durable_at_return(directory)),
        store_(opened(directory)),
        items_(std::make_unique<server::stored_items>(
            *store_,
            server::stored_items_options{.path = directory, .is_durable_at_return = !waits_})) {
    sweeper_.start(std::chrono::milliseconds(20), [this] { return sweep(); });
    if (!waits_) return;
    constexpr std::chrono::milliseconds usual_interval{10};
    syncer_.start(
        usual_interval, [this] { return sync(); },
        [this] {
          using outlook = base::periodic_thread::outlook;
          return wanted_.load() > items_->durable_token() ? outlook::work : outlook::nothing;
        });
  }
  ~store_space() override { stop(); }

  server::item_space& items() override { return *items_; }
  void hasten(server::token wanted) override {
    if (!waits_) return;
    server::token before = wanted_.load();
    while (before < wanted && !wanted_.compare_exchange_weak(before, wanted)) {
    }
    if (before < wanted) syncer_.hasten();
  }
  bool has_failed() const override { return has_failed_.load(); }
  std::string backup(const std::string& path, const std::function<void()>& look) override {
    const db::Status status = db::Checkpoint(
        store_.get(), path, [&](std::uint64_t /*done*/, std::uint64_t /*all*/) { look(); });
    if (!status.ok()) throw std::runtime_error(status.ToString());
    return {};
  }
  [[nodiscard]] std::uint64_t backup_bytes() const override { return items_->bytes(); }
  void close() override {
    stop();
    if (waits_ && !has_failed_.load()) items_->make_durable();
    items_.reset();
    store_.reset();
    if (!has_failed_.load()) return;
    throw error(errc::io_failure, directory_,
                "the device has failed, and the last changes may be lost; check it, and open the "
                "store again");
  }

 private:
  void stop() {
    sweeper_.stop();
    syncer_.stop();
  }
  /// Makes what replies wait for durable. Returns false if the device has failed.
  bool sync() {
    try {
      items_->make_durable();
    } catch (const std::bad_alloc&) {
      // The next call tries again.
    } catch (const error&) {
      has_failed_.store(true);
      return false;
    }
    return true;
  }
  /// Removes what has expired among the next items.
  bool sweep() {
    constexpr std::size_t items = 256;
    try {
      items_->sweep(now_ms(), items);
    } catch (const error&) {
      // The next change reports it: the device has failed, or the store is full for the moment.
    } catch (const std::bad_alloc&) {
    }
    return true;
  }

  std::string directory_;
  bool waits_;  ///< for the device
  std::unique_ptr<db::DB> store_;
  std::unique_ptr<server::stored_items> items_;
  std::atomic<server::token> wanted_{0};
  std::atomic<bool> has_failed_{false};
  base::periodic_thread sweeper_;
  base::periodic_thread syncer_;
};

}  // namespace

std::unique_ptr<key_space> open_store(const std::string& directory) {
  return std::make_unique<store_space>(directory);
}

}  // namespace outlast::apps
