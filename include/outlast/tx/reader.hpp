// The transactions of a pool that another process uses, read from this one.
//
//   outlast::pool_reader reader("/var/lib/app/state.pool");
//   outlast::tx::reader<outlast::tx::redo_opt<>> bank(reader, "bank");
//   outlast::tx::root<accounts> all = bank.root<accounts>("accounts");
//   std::uint64_t sum = bank.read(all, [](const accounts& a) { return a.total(); });
//
// A read runs on a replica of the writer, without a copy and without a message to the writer. The
// replica has the state of one moment, and does not change during the read. Rules R1 to R4 of
// manager.hpp apply.
//
// The protocol. The reader announces in its slot the replica that the durable word names, compares
// the word again, and begins by an exchange on the slot. A writer takes a replica only if the word
// names another one and no slot has the replica: it ends announcements whose read has not begun,
// and clears the slots of dead processes. It does not end a read: the code of a program must not
// run on bytes that change. A reader that is stopped in the middle of a read therefore keeps one
// replica for as long. The last reader to announce a replica counts those that others have, and
// waits if two replicas would not be left to the writer.
//
// Engines: redo_opt, redo and redo_timed, with three or more replicas. left_right has two, so that
// a reader that is stopped would stop all updates.
//
// When not to use: for reads of many threads beside a manager with few replicas. Each read keeps a
// replica from updates, and readers wait for each other; options.replicas helps both.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/domain/backoff.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/pool/pool_reader.hpp>
#include <outlast/pool/region.hpp>
#include <outlast/root/root_session.hpp>
#include <outlast/tx/detail/record.hpp>
#include <outlast/tx/detail/replica_word.hpp>
#include <outlast/tx/heap.hpp>
#include <outlast/tx/manager.hpp>
#include <outlast/tx/transaction.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::tx {

namespace detail {

/// True for the engines whose updates leave alone the replicas that readers in other processes use.
template <class Manager>
concept read_by_others =
    requires {
      typename Manager::domain_type;
      { Manager::engine } -> std::convertible_to<engine_kind>;
    } && (Manager::engine == engine_kind::redo || Manager::engine == engine_kind::redo_timed ||
          Manager::engine == engine_kind::redo_opt);

/// One incarnation of a manager, as a reader found it. Immutable, except for the last member.
struct read_manager {
  manager_record* record;
  pool_detail::readable_region region;
  std::atomic<std::uint64_t> durable{0};  // bits of the newest word that is known to be durable

  read_manager(manager_record* its_record, const pool_detail::readable_region& its_region) noexcept
      : record(its_record), region(its_region) {}

  [[nodiscard]] std::uint64_t offset_of(unsigned replica) const noexcept {
    return region.offset + replica * region.stride_bytes;
  }
  [[nodiscard]] std::uint64_t end() const noexcept { return offset_of(region.replicas); }
};

/// The root of a manager that is read.
template <domain::persistence_domain D>
class manager_root final : public basic_pool_reader<D>::root {
  using base_type = typename basic_pool_reader<D>::root;

 public:
  manager_root(basic_pool_reader<D>& in, const std::string& name, engine_kind engine)
      : base_type(in, {name, std::string(manager_root_name), manager_fingerprint}),
        name_(name),
        engine_(engine) {
    this->renew();
  }
  [[nodiscard]] read_manager& now() const noexcept { return *now_.load(std::memory_order_acquire); }

 private:
  void found(std::byte* object) override {
    auto* const record = reinterpret_cast<manager_record*>(object);
    const std::string& path = this->reader().path();
    require_record(*record, engine_, path, name_);
    const auto region = this->reader().find_region("tx:" + name_, region_kind::replicas);
    if (!region || region->replicas != record->replicas || region->bytes != record->replica_bytes) {
      throw corruption(path, "the region 'tx:" + name_ +
                                 "' does not exist, or has another size than the header of its "
                                 "transactions records; restore a backup");
    }
    if (region->replicas < 3) {
      throw error(errc::refused, path,
                  "the transactions '" + name_ + "' have " + std::to_string(region->replicas) +
                      " replicas; readers in other processes need 3 or more, since one of them may "
                      "be stopped; create the manager with options.replicas 3 or more");
    }
    all_.push_back(std::make_unique<read_manager>(record, *region));
    now_.store(all_.back().get(), std::memory_order_release);
  }

  const std::string name_;
  const engine_kind engine_;
  std::vector<std::unique_ptr<read_manager>> all_;  // operations may use earlier ones
  std::atomic<read_manager*> now_{nullptr};
};

}  // namespace detail

/// Reads the transactions of a `Manager` that another process updates.
///
/// Members, as of a transaction_manager: read(f), and read(root, f).
/// Thread-safety: all members may be called concurrently, except construction and destruction.
/// Progress: lock-free, apart from the operations themselves, while the replicas that readers use
/// are at most two fewer than those of the manager. Otherwise read() waits, up to
/// reader_options::wait_ms. It also waits while a writer opens the pool.
/// Durability: when read() returns, its result and all updates on which it depends are durable.
/// Errors: each operation throws what basic_pool_reader::root::run() throws; error{refused} if it
/// has waited too long, or if the operation stores to a field; corruption; and what f throws.
template <class Manager>
class reader : public detail::read_calls<reader<Manager>> {
  static_assert(detail::read_by_others<Manager>,
                "readers in other processes read redo_opt, redo and redo_timed: the other engines "
                "have two replicas, or keep in the writer's memory what a read needs");

 public:
  using domain_type = typename Manager::domain_type;
  using pool_reader = basic_pool_reader<domain_type>;

  /// Finds the manager `name`. Requires: `in` outlives the reader. Throws error{not_found,
  /// root_type_mismatch, closed, refused} and corruption.
  reader(pool_reader& in, std::string_view name)
      : in_(in), root_(std::make_unique<manager_root>(in, std::string(name), Manager::engine)) {
    this->read([this](const_view) { require_heap(); });
  }

  /// Returns the object `name`, which the writer has created. Throws error{not_found} if there is
  /// none, error{root_type_mismatch} if it has another type, error{bad_argument} for a name that is
  /// too long or empty.
  template <class T>
  [[nodiscard]] detail::root_of<T> root(std::string_view name) {
    const auto there = this->template find_object<T>(this->stored_text(name));
    if (there.offset == 0) {
      throw error(errc::not_found, in_.path(),
                  "there is no object '" + std::string(name) +
                      "' in the transactions; a writer creates it by root()");
    }
    this->template require_type<T>(there, name);
    return {there.offset};
  }

 private:
  friend class detail::read_calls<reader>;
  using D = domain_type;
  using manager_root = detail::manager_root<D>;
  using hold_type = typename pool_reader::replica_hold;
  using clock = std::chrono::steady_clock;

  template <class Result, class F>
  Result run_read(F&& f) {
    hold_type hold(in_);
    const held now = take(hold);
    transaction reading(this, in_.at(now.in->offset_of(now.replica)), now.in->region.bytes);
    const detail::running_scope scope(reading);
    return f(reading);
  }

  struct held {
    detail::read_manager* in;
    unsigned replica;
  };

  /// Returns the current replica, which `hold` keeps from updates.
  [[nodiscard]] held take(hold_type& hold) {
    std::optional<clock::time_point> deadline;
    domain::backoff<D> until_free;
    for (;;) {
      const std::optional<held> now =
          root_->run([&](auto&) { return std::make_optional(announce(hold)); });
      if (!now) continue;  // an update was faster
      const unsigned most = now->in->region.replicas - 2;
      if (hold.others(now->in->region.offset, now->in->end(), most) < most) {
        if (hold.begin()) return *now;
        continue;
      }
      hold.end();
      if (!deadline) deadline = clock::now() + std::chrono::milliseconds(in_.wait_ms());
      if (clock::now() >= *deadline) refuse_wait(most);
      until_free.wait();
    }
  }

  /// Announces the current replica. Returns nothing if another one has become current.
  [[nodiscard]] std::optional<held> announce(hold_type& hold) {
    detail::read_manager& in = root_->now();
    std::atomic<std::uint64_t>& word = in.record->state;
    const detail::replica_word seen(D::load(word, std::memory_order_seq_cst));
    if (seen.replica() >= in.region.replicas) {
      throw corruption(in_.path(),
                       "the durable word of the transactions names a replica that does not exist; "
                       "restore a backup");
    }
    hold.announce(in.offset_of(seen.replica()));
    // (1) After the full barrier of announce(): a writer that takes the replica finds the
    // announcement, or this thread finds another word. Synchronizes-with the commit: its lines are
    // visible.
    if (D::load(word, std::memory_order_seq_cst) != seen.bits()) return std::nullopt;
    make_durable(in, seen);
    return held{&in, seen.replica()};
  }

  /// Returns once a crash cannot take back what a reader of `seen` finds.
  void make_durable(detail::read_manager& in, detail::replica_word seen) {
    std::uint64_t known = in.durable.load(std::memory_order_relaxed);
    if (known >= seen.bits()) return;
    domain::persist_before_return<D>(&in.record->state, sizeof(std::uint64_t));
    while (known < seen.bits() && !in.durable.compare_exchange_weak(known, seen.bits())) {
    }
  }

  void require_heap() const {
    const std::string damage = heap::damage(
        *reinterpret_cast<const detail::heap_header*>(running().replica()), running().bytes());
    if (damage.empty()) return;
    throw corruption(in_.path(), "the heap of the transactions " + damage + "; restore a backup");
  }

  [[noreturn]] void refuse_wait(unsigned most) const {
    throw error(errc::refused, in_.path(),
                "other readers have kept " + std::to_string(most) +
                    " replicas of the transactions, which is the maximum, for longer than " +
                    std::to_string(in_.wait_ms()) +
                    " ms (reader_options::wait_ms); end readers that are stopped, or create the "
                    "manager with more options.replicas");
  }

  [[nodiscard]] const void* id() const noexcept { return this; }
  [[nodiscard]] std::string where() const { return in_.path(); }

  pool_reader& in_;
  std::unique_ptr<manager_root> root_;
};

}  // namespace outlast::tx
