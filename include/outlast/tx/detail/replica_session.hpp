// The volatile half of a transaction manager, as far as engines share it: region, replicas, space.
#pragma once

#include <outlast/base/anonymous_memory.hpp>
#include <outlast/base/cache_line.hpp>
#include <outlast/base/error.hpp>
#include <outlast/base/large_pages.hpp>
#include <outlast/base/periodic_thread.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/pool/file/machine.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/pool/region.hpp>
#include <outlast/root/root_session.hpp>
#include <outlast/tx/detail/changed_pages.hpp>
#include <outlast/tx/detail/commit_log.hpp>
#include <outlast/tx/detail/commit_records.hpp>
#include <outlast/tx/detail/record.hpp>
#include <outlast/tx/detail/replica_word.hpp>
#include <outlast/tx/detail/write_set.hpp>
#include <outlast/tx/heap.hpp>
#include <outlast/tx/options.hpp>
#include <outlast/tx/transaction.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace outlast::tx::detail {

/// Where an engine works on replicas.
enum class replica_place {
  media,   ///< in the pool
  memory,  ///< in ordinary memory; the media have one, the home, that a log brings up to date
};

/// An engine's session derives from it. The root's object is a manager_record; the replicas lie in
/// a region of the same name, which outlives the root and is used again.
///
/// Thread-safety: replica(), bytes() may be called concurrently, the rest as the engine says.
template <domain::persistence_domain D>
class replica_session : public roots::root_session<D> {
  using base_type = roots::root_session<D>;

 public:
  /// `replicas`: counts when the manager is created.
  replica_session(basic_pool<D>& in, const attached_root& root, const std::string& name,
                  engine_kind engine, unsigned replicas, const options& wanted,
                  replica_place place = replica_place::media)
      : base_type(in, root), name_(name), region_name_("tx:" + name), place_(place) {
    if (root.state == root_state::fresh) {
      create(engine, replicas, wanted);
    } else {
      open(engine);
    }
    if (root.state != root_state::fresh) replay_commits();
    if (place == replica_place::memory) {
      begin_in_memory(wanted);
    } else if (record_->one_on_media != 0 && !is_fresh()) {
      require_named();
      provide(used(named_by(word_on_media())).pages_end);
    }
  }

  ~replica_session() override { disown_home(); }

  using base_type::arena;
  using base_type::pool;

  void collect_all() override {}
  /// Who has the region next may store to it at any time.
  void before_drop() override { disown_home(); }

  [[nodiscard]] std::byte* replica(unsigned i) const noexcept {
    if constexpr (domain::logs_lines<D>) {
      if (place_ == replica_place::memory) return in_memory_[i].data();
    }
    return region_->replica(i);
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// On which the engine works.
  [[nodiscard]] unsigned replicas() const noexcept {
    return place_ == replica_place::memory ? static_cast<unsigned>(in_memory_.size())
                                           : region_->replicas;
  }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Bytes of ordinary memory that replicas take which lie there, with the pages that are the
  /// process's own of the one on media. `pages_end`: up to there they are in use.
  [[nodiscard]] std::size_t replica_memory(std::size_t pages_end) const noexcept {
    if (in_memory_.empty()) return 0;
    const std::size_t begin = heap::pages_begin(bytes_, record_->page_bytes);
    const std::size_t provided = provided_.load(std::memory_order_relaxed);
    const std::size_t end = std::max({begin, pages_end, provided});
    const std::size_t pages = (end - begin) / record_->page_bytes;
    const std::size_t table = std::min(begin, sizeof(heap_header) + pages * sizeof(page_state));
    const auto taken_of = [&](const std::byte* replica) {
      return base::private_bytes(replica, table) +
             base::private_bytes(replica + begin, end - begin);
    };
    std::size_t all = taken_of(home_bytes());
    for (const base::anonymous_memory& each : in_memory_) all += taken_of(each.data());
    return all;
  }

  /// Throws error{bad_argument} where the manager was made otherwise than `wanted` asks for.
  void require_made_as(const options& wanted) const {
    constexpr options usual;
    if (wanted.replica_bytes != 0 && bytes_of_replica(wanted.replica_bytes) > bytes_) {
      refuse_wish("replica_bytes", wanted.replica_bytes, bytes_);
    }
    if (wanted.page_bytes != usual.page_bytes && wanted.page_bytes != record_->page_bytes) {
      refuse_wish("page_bytes", wanted.page_bytes, record_->page_bytes);
    }
    const bool is_free =
        place_ == replica_place::memory || record_->engine == engine_kind::left_right;
    if (!is_free && wanted.replicas != usual.replicas && wanted.replicas != record_->replicas) {
      refuse_wish("replicas", wanted.replicas, record_->replicas);
    }
  }

  // ---- For verification ----

  [[nodiscard]] const std::atomic<std::uint64_t>& durable_word() const noexcept { return state(); }
  /// Which replica counts where that word is `word`.
  [[nodiscard]] unsigned named_by(std::uint64_t word) const noexcept {
    const std::uint64_t mask = record_->engine == engine_kind::left_right ? 1 : 0xffff;
    return static_cast<unsigned>(word & mask);
  }

 protected:
  [[nodiscard]] std::atomic<std::uint64_t>& state() const noexcept { return record_->state; }
  [[nodiscard]] bool is_fresh() const noexcept { return this->root().state == root_state::fresh; }

  /// An update of replica `i`.
  [[nodiscard]] transaction writing(unsigned i, write_set& written) noexcept {
    return {this, replica(i), bytes_, written, writer_of<D>(), [](void* self, std::size_t bytes) {
              static_cast<replica_session*>(self)->provide(bytes);
            }};
  }
  /// The same without notes: it cannot be undone, and nobody knows what it has written.
  [[nodiscard]] transaction writing_unnoted(unsigned i) noexcept {
    return {this, replica(i), bytes_, [](void* self, std::size_t bytes) {
              static_cast<replica_session*>(self)->provide(bytes);
            }};
  }
  [[nodiscard]] transaction reading(unsigned i) const noexcept {
    return {this, replica(i), bytes_};
  }

  [[nodiscard]] std::byte* line_at(unsigned i, line_number line) const noexcept {
    return replica(i) + line * base::cache_line_size;
  }
  void flush_line(unsigned i, line_number line, domain::site where = domain::site::current()) {
    if (is_volatile()) return;
    domain::flush<D>(line_at(i, line), base::cache_line_size, where);
  }

  /// What the caller has flushed is durable before a word that is published later: at return, or,
  /// under a log, in one batch with it.
  void stage_lines(domain::site where = domain::site::current()) {
    if constexpr (domain::logs_lines<D>) {
      if (!is_volatile()) D::stage(where);
    } else {
      domain::fence<D>(where);
    }
  }

  /// What of replica `i` is in use.
  [[nodiscard]] heap::extent used(unsigned i) const noexcept {
    return heap::used(header_at(replica(i)));
  }
  /// Replicas in memory: the one on media, which the word there names.
  [[nodiscard]] unsigned home() const noexcept { return named_by(word_on_media()); }
  [[nodiscard]] std::byte* home_bytes() const noexcept { return region_->replica(home()); }
  [[nodiscard]] std::size_t page_bytes() const noexcept { return record_->page_bytes; }

  /// Replica `to` may hold anything: makes it equal to `from` in all that is in use, by copying the
  /// lines that differ. All of it is durable before a word that is published later, also what was
  /// equal: a killed process may have written that, and never flushed it.
  void copy_differing(unsigned from, unsigned to) {
    for_each_used(used(from), [&](std::size_t begin, std::size_t end) {
      // Memory that was never written to would be given twice: zeros to read, then a page to write.
      if (is_volatile()) return copy_lines(from, to, begin, end);
      for (std::size_t at = begin; at < end; at += compared_at_once) {
        copy_differing_lines(from, to, at, std::min(end, at + compared_at_once));
      }
    });
    stage_lines();  // another thread may be the one that publishes it
  }

  /// Replica `to` differs from `from` at most in pages that were written after `number`, and in
  /// lines that nobody uses: copies these pages. They are durable before a word that is published
  /// later.
  void copy_changed(unsigned from, unsigned to, const changed_pages<D>& pages,
                    std::uint64_t number) {
    for_each_used(used(from), [&](std::size_t begin, std::size_t end) {
      pages.for_each_after(number, begin, end, [&](std::size_t first, std::size_t last) {
        copy_lines(from, to, first, last);
      });
    });
    stage_lines();
  }

  /// Every replica in use exists on the file system up to its byte `wanted`, in which its pages
  /// end, and so does what the heap's table says of these: what was decided in one can always be
  /// repeated in the others. What lies between table and pages stays a hole.
  void provide(std::size_t wanted) {
    const std::size_t there = provided_.load(std::memory_order_relaxed);
    if (wanted <= there) {
      if (used_ != nullptr) grow_soon(wanted, there);
      return;
    }
    if (used_ == nullptr) return provide_alone(wanted, part_ahead);
    const std::lock_guard lock(providing_);
    if (wanted > provided_.load(std::memory_order_relaxed)) provide_alone(wanted, part_ahead);
  }
  /// Space is made by nobody but who needs it, at return.
  void stop_growing() { growth_.stop(); }
  /// The same in a child process.
  void abandon_growing() noexcept { growth_.abandon(); }

  /// From now on a replica is in use only if it is one of the first two, or was asked for by
  /// use_replica(); all of them, if this is not called. For an engine that can do with two.
  void use_two_at_first() {
    used_ = std::make_unique<std::atomic<std::uint32_t>[]>(region_->replicas);
    for (unsigned i = 0; i < region_->replicas; ++i) used_[i] = i < 2 ? 1 : 0;
    const unsigned named = named_by(word_on_media());
    used_[named] = 1;
    // An earlier process has provided for the first two and for the named one.
    const std::size_t there = used(named).pages_end;
    provided_.store(std::max(provided_.load(std::memory_order_relaxed), there),
                    std::memory_order_relaxed);
  }
  /// The replica has the space that the others have. False if there is none left for it.
  [[nodiscard]] bool use_replica(unsigned i) {
    if (is_used(i)) return true;
    const std::lock_guard lock(providing_);
    if (is_used(i)) return true;
    try {
      commit(i, 0, provided_.load(std::memory_order_relaxed));
    } catch (const out_of_space&) {
      return false;
    }
    used_[i].store(1, std::memory_order_release);
    return true;
  }

  /// For an engine whose transitions may wait for the device. None if the pool has no room for it.
  /// Throws error{io_failure}.
  [[nodiscard]] std::unique_ptr<commit_log<D>> open_commit_log() {
    std::optional<region_info> region = pool().find_region(log_name());
    try {
      if (!region) region = create_commit_log();
    } catch (const out_of_space&) {
      return nullptr;
    } catch (const error& failure) {
      if (failure.reason() == errc::roots_exhausted) return nullptr;
      throw;
    }
    if constexpr (domain::logs_lines<D>) {
      // What goes home together is in one batch of the pool's log.
      if (!D::provide(region->address, region->bytes / base::cache_line_size)) return nullptr;
    }
    const auto life = pool_detail::random_uuid();
    std::uint64_t chosen = 0;
    std::memcpy(&chosen, life.data(), sizeof chosen);
    return std::make_unique<commit_log<D>>(pool(), *region, chosen, bytes_);
  }

  /// At a clean close, where replicas lie in memory: what the media need not have goes back to the
  /// file system.
  void give_back_space() {
    const std::size_t in_use = heap::used(header_at(home_bytes())).pages_end;
    pool().uncommit_region(region_name_, home(), in_use, bytes_ - in_use);
    const std::optional<region_info> log = pool().find_region(log_name());
    if (!log) return;
    pool().uncommit_region(log_name(), 0, commit_records_offset,
                           log->bytes - commit_records_offset);
  }

  /// Throws corruption unless the word on media names a replica which begins as a heap does.
  void require_named() const {
    const unsigned named = named_by(word_on_media());
    if (named >= region_->replicas) {
      throw corruption(pool_path(), "the durable word of the transactions '" + name_ +
                                        "' names a replica that there is not; restore a backup");
    }
    const std::string damage = heap::damage(header_at(region_->replica(named)), bytes_);
    if (damage.empty()) return;
    throw corruption(pool_path(), "the heap of the transactions '" + name_ + "' " + damage +
                                      "; restore a backup");
  }

  [[nodiscard]] const std::string& pool_path() const noexcept {
    return const_cast<replica_session*>(this)->pool().path();
  }

 private:
  static constexpr std::size_t compared_at_once = 4096;
  static constexpr std::size_t provided_at_once = std::size_t{1} << 20;
  /// Of what is in use that much is provided besides: by who needs space, by a thread that makes it
  /// before, and what is left when that begins, of replicas that are worth it.
  static constexpr std::size_t part_ahead = 8;
  static constexpr std::size_t part_grown = 16;
  static constexpr std::size_t part_left = 32;
  static constexpr std::size_t min_grown = std::size_t{16} << 20;
  static constexpr std::size_t large_page_bytes = std::size_t{2} << 20;
  static constexpr std::size_t min_large = std::size_t{16} << 20;
  static constexpr std::size_t min_log_bytes = std::size_t{64} << 10;
  static constexpr std::size_t max_log_bytes = std::size_t{16} << 20;

  [[nodiscard]] bool is_used(unsigned i) const noexcept {
    return used_ == nullptr || used_[i].load(std::memory_order_acquire) != 0;
  }
  void provide_alone(std::size_t wanted, std::size_t part) {
    std::size_t before = provided_.load(std::memory_order_relaxed);
    const bool one = place_ == replica_place::memory && record_->one_on_media != 0;
    const std::size_t ahead = std::max(provided_at_once, bytes_in_pages(wanted) / part);
    const std::size_t enough = std::min(bytes_, base::round_up(wanted + ahead, large_page_bytes));
    for (unsigned i = 0; i < region_->replicas; ++i) {
      if (is_used(i) && (!one || i == home())) commit(i, before, enough);
    }
    // Engines may run several updates at a time, each in its replica.
    while (before < enough && !provided_.compare_exchange_weak(before, enough)) {
    }
  }
  [[nodiscard]] std::size_t bytes_in_pages(std::size_t end) const noexcept {
    return end - heap::pages_begin(bytes_, record_->page_bytes);
  }
  /// The kernel clears what it gives, millions of bytes at a time: no update should wait for that.
  /// Where there is no such thread, the update that needs space makes it.
  void grow_soon(std::size_t wanted, std::size_t there) noexcept {
    const std::size_t in_pages = bytes_in_pages(wanted);
    if (in_pages < min_grown || there - wanted > in_pages / part_left) return;
    if (grown_from_.exchange(there, std::memory_order_relaxed) == there) return;
    try {
      if (!grows_.exchange(true)) {
        growth_.start(std::chrono::hours(1), [this] {
          grow();
          return true;
        });
      }
      growth_.hasten();
    } catch (const std::exception&) {
      return;
    }
  }
  void grow() noexcept {
    const std::size_t from = grown_from_.load(std::memory_order_relaxed);
    const std::lock_guard lock(providing_);
    if (provided_.load(std::memory_order_relaxed) != from) return;
    try {
      provide_alone(from, part_grown);
    } catch (const std::exception&) {
      return;  // whoever needs the space is told why there is none
    }
  }
  /// Makes the replica's table and pages exist that pages up to `end` need; up to `before` they do,
  /// if that is not 0. No header is read: a batch may be writing the one on media.
  void commit(unsigned i, std::size_t before, std::size_t end) {
    const std::size_t pages_begin = heap::pages_begin(bytes_, record_->page_bytes);
    const auto table_end = [&](std::size_t pages_end) {
      const std::size_t pages = (pages_end - pages_begin) / record_->page_bytes;
      return sizeof(heap_header) + pages * sizeof(page_state);
    };
    const std::size_t table_from = before == 0 ? 0 : table_end(before);
    const std::size_t pages_from = std::max(before, pages_begin);
    const std::size_t pages_to = std::max(end, pages_from);
    pool().commit_region(region_name_, i, table_from, table_end(pages_to) - table_from);
    pool().commit_region(region_name_, i, pages_from, pages_to - pages_from);
  }

  void create(engine_kind engine, unsigned replicas, const options& wanted) {
    require_options(wanted);
    // (P1) persisted-before (P2): a record names a region that is there.
    reserve(replicas, wanted);
    if (const auto left = pool().find_region(log_name())) forget_commits(*left);
    const unsigned on_media = place_ == replica_place::memory ? 1 : replicas;
    format(wanted.page_bytes, on_media);
    record_ = static_cast<manager_record*>(
        arena().allocate(sizeof(manager_record), alignof(manager_record)));
    D::zero(record_, sizeof(manager_record));
    manager_record made{};
    made.magic = manager_record::right_magic;
    made.version = manager_record::known_version;
    made.engine = engine;
    made.replicas = replicas;
    made.page_bytes = static_cast<std::uint32_t>(wanted.page_bytes);
    made.replica_bytes = bytes_;
    made.one_on_media = on_media == 1 ? 1 : 0;
    made.checksum = checksum_of(made);
    D::write(record_, &made, offsetof(manager_record, state));
    domain::persist<D>(record_, sizeof(manager_record));
    pool().publish_root(this->root().index, record_);  // (P2) the manager exists.
  }

  [[noreturn]] void refuse_wish(const char* option, std::uint64_t wanted, std::uint64_t has) const {
    throw error(errc::bad_argument, pool_path(),
                std::string("options.") + option + " is " + std::to_string(wanted) +
                    ", and the transactions '" + name_ + "' have " + std::to_string(has) +
                    ", fixed when they were created; leave the option out, or choose another name");
  }

  void require_options(const options& wanted) const {
    require_replicas(wanted);
    if (!is_page(wanted.page_bytes)) {
      throw error(errc::bad_argument, pool_path(),
                  "options.page_bytes must be a power of two from 256 to 1 MiB");
    }
  }
  static bool is_page(std::size_t bytes) noexcept {
    return std::has_single_bit(bytes) && bytes >= heap::min_page_bytes &&
           bytes <= heap::max_page_bytes;
  }
  static std::size_t min_heap(std::size_t page_bytes) noexcept {
    return sizeof(heap_header) + sizeof(page_state) + 2 * page_bytes;
  }
  void require_replicas(const options& wanted) const {
    if (wanted.replicas < 2 || wanted.replicas > 4096) {
      throw error(errc::bad_argument, pool_path(), "options.replicas must be from 2 to 4096");
    }
  }

  /// A region of that name may be left of a manager that was dropped, or never came to be.
  void reserve(unsigned replicas, const options& wanted) {
    region_ = pool().find_region(region_name_);
    if (!region_) {
      const std::size_t share = pool().size_bytes() / (replicas + 1);
      const std::size_t bytes = wanted.replica_bytes != 0 ? wanted.replica_bytes : share;
      reserve_replicas(replicas, bytes_of_replica(bytes));
    }
    if (region_->replicas != replicas ||
        (wanted.replica_bytes != 0 && region_->bytes != bytes_of_replica(wanted.replica_bytes))) {
      throw error(errc::already_exists, pool_path(),
                  "the region '" + region_name_ + "' is left of an earlier manager and has " +
                      std::to_string(region_->replicas) + " replicas of " +
                      std::to_string(region_->bytes) + " bytes; choose another name");
    }
    bytes_ = region_->bytes;
  }

  void reserve_replicas(unsigned replicas, std::size_t bytes) {
    try {
      region_ = pool().reserve_region(region_name_, region_kind::replicas, bytes, replicas);
    } catch (const out_of_space& full) {
      throw out_of_space(
          "the transactions '" + name_ + "' want " + std::to_string(replicas) + " replicas of " +
          std::to_string(bytes) +
          " bytes, which options.replica_bytes decides (0: a manager takes most of the pool): " +
          full.what());
    }
  }

  /// An empty heap in the first `replicas`. Durable at return.
  void format(std::size_t page_bytes, unsigned replicas) {
    if (bytes_ < min_heap(page_bytes)) {
      throw error(errc::too_small, pool_path(),
                  "a replica of " + std::to_string(bytes_) + " bytes cannot hold pages of " +
                      std::to_string(page_bytes));
    }
    for (unsigned i = 0; i < replicas; ++i) {
      std::byte* const at = region_->replica(i);
      pool().commit_region(region_name_, i, 0, sizeof(heap_header));
      write_set written;
      transaction formatting(this, at, bytes_, written, writer_of<D>(), nullptr);
      const running_scope now(formatting);
      heap(formatting).format(page_bytes);
      written.for_each([&](line_number line) {
        domain::flush<D>(at + line * base::cache_line_size, base::cache_line_size);
      });
    }
    domain::fence<D>();
  }

  void open(engine_kind engine) {
    record_ = this->template object<manager_record>();
    require_record(*record_, engine, pool_path(), name_);
    region_ = pool().find_region(region_name_);
    if (!region_ || region_->replicas != record_->replicas ||
        region_->bytes != record_->replica_bytes || !is_page(record_->page_bytes) ||
        region_->bytes < min_heap(record_->page_bytes)) {
      throw corruption(pool_path(), "the region '" + region_name_ +
                                        "' is not there, or not as large as the header of its "
                                        "transactions says; restore a backup");
    }
    bytes_ = region_->bytes;
    if (this->root().state == root_state::clean) {
      arena().load_clean();
    } else {
      auto marking = arena().begin_recovery();
      marking.mark(record_);
      marking.finish();
    }
    if (this->root().pointers_base != pool().base()) pool().root_relocated(this->root().index);
  }

  // ---- The log of transitions ----

  [[nodiscard]] std::string log_name() const { return "tl:" + name_; }

  /// Space that was somebody else's holds anything: it gets a start that says nothing.
  [[nodiscard]] region_info create_commit_log() {
    const std::size_t part = base::round_up(pool().size_bytes() / 64, pool_format::page_bytes);
    const std::size_t records = domain::has_real_threads<D>
                                    ? std::clamp(part, min_log_bytes, max_log_bytes)
                                    : std::size_t{8} << 10;  // rare things are made frequent
    region_info made =
        pool().reserve_region(log_name(), region_kind::log, commit_records_offset + records);
    pool().commit_region(log_name(), 0, 0, commit_records_offset);
    forget_commits(made);
    return made;
  }
  /// Durable at return.
  static void forget_commits(const region_info& log) {
    std::byte* const number = log.address + offsetof(commit_log_header, number);
    D::write(number, &commit_log_header::no_number, sizeof(std::uint64_t));
    domain::persist<D>(number, sizeof(std::uint64_t));
  }

  /// What an earlier process has left in the log of transitions goes into the replica that counts,
  /// with the word, durably. Cut off, it begins again: records say what lines hold. Throws
  /// corruption if a transition is missing that was durable.
  void replay_commits() {
    const std::optional<region_info> log = pool().find_region(log_name());
    const replica_word now(word_on_media());
    if (!log || log->kind != region_kind::log || log->bytes <= commit_records_offset ||
        named_by(now.bits()) >= region_->replicas) {
      return;
    }
    const base::anonymous_memory in_file = pool().read_region(log_name());
    const commit_log_reader found({in_file.data(), log->bytes}, now.number(), bytes_);
    if (!found.damage().empty() && !pool().salvages()) {
      throw corruption(pool_path(), "the log of the transactions '" + name_ + "' " +
                                        found.damage() + "; restore a backup, or salvage it");
    }
    if (found.number() == now.number()) return;
    bring_in(found.lines(), replica_word(found.number(), now.replica()), *log);
  }
  /// Under a log the word alone says that their log is of an earlier one.
  void bring_in(const std::vector<line_found>& lines, replica_word word,
                [[maybe_unused]] const region_info& log) {
    std::byte* const home = region_->replica(named_by(word.bits()));
    if constexpr (domain::logs_lines<D>) {
      std::vector<domain::line_store> stores;
      stores.reserve(lines.size());
      for (const line_found& each : lines) {
        stores.push_back({home + each.line * base::cache_line_size, each.content});
      }
      D::publish(state(), word.bits(), stores);
    } else {
      for (const line_found& each : lines) {
        std::byte* const at = home + each.line * base::cache_line_size;
        D::write(at, each.content, base::cache_line_size);
        domain::flush<D>(at, base::cache_line_size);
      }
      // (P3) persisted-before (P4): the word says what the replica holds.
      domain::fence<D>();
      // (P4) the transitions have happened. (P5) persisted-before (P6): nobody needs their log.
      D::store(state(), word.bits(), std::memory_order_release);
      domain::persist_before_return<D>(&state(), sizeof(std::uint64_t));
      forget_commits(log);  // (P6) it says nothing any more.
    }
  }

  /// What the media have goes into the first replica. The others may hold anything.
  void begin_in_memory(const options& wanted) {
    require_replicas(wanted);
    require_named();
    const std::byte* const from = home_bytes();
    const heap::extent in_use = heap::used(header_at(from));
    // What is small has small pages.
    const bool is_small = in_use.pages_end - in_use.pages_begin < min_large;
    const std::size_t large_from = is_small ? std::min(bytes_, in_use.pages_begin + min_large) : 0;
    for (unsigned i = 0; i < wanted.replicas; ++i) {
      in_memory_.emplace_back(bytes_);
      base::request_large_pages(replica(i) + large_from, bytes_ - large_from);
    }
    for_each_used(in_use, [&](std::size_t begin, std::size_t end) {
      std::memcpy(replica(0) + begin, from + begin, end - begin);
    });
    if constexpr (domain::logs_lines<D>) {
      owned_ = home_bytes();
      owner_ = D::own({owned_, bytes_, in_use.pages_begin, in_use.pages_end});
    }
  }
  /// The pool may have been closed.
  void disown_home() noexcept {
    if constexpr (domain::logs_lines<D>) {
      if (owner_ != 0) D::disown(owned_, std::exchange(owner_, 0));
    }
  }

  [[nodiscard]] bool is_volatile() const noexcept {
    if constexpr (domain::logs_lines<D>) return place_ == replica_place::memory;
    return false;
  }
  [[nodiscard]] static const heap_header& header_at(const std::byte* replica) noexcept {
    return *reinterpret_cast<const heap_header*>(replica);
  }
  [[nodiscard]] std::uint64_t word_on_media() const noexcept {
    return state().load(std::memory_order_relaxed);
  }

  /// Calls `visit(begin, end)` for the bytes of `in_use`, in whole lines.
  template <class Visit>
  void for_each_used(const heap::extent& in_use, Visit&& visit) const {
    const auto end_of = [this](std::size_t end) {
      return std::min(bytes_, base::round_up(end, base::cache_line_size));
    };
    visit(std::size_t{0}, end_of(in_use.table_end));
    visit(in_use.pages_begin & ~(base::cache_line_size - 1), end_of(in_use.pages_end));
  }

  void copy_differing_lines(unsigned from, unsigned to, std::size_t begin, std::size_t end) {
    if (are_equal(from, to, begin, end)) return flush_equal(to, begin, end);
    for (std::size_t at = begin; at < end; at += base::cache_line_size) {
      const std::size_t next = at + base::cache_line_size;
      are_equal(from, to, at, next) ? flush_equal(to, at, next) : copy_lines(from, to, at, next);
    }
  }
  [[nodiscard]] bool are_equal(unsigned a, unsigned b, std::size_t begin, std::size_t end) const {
    return std::memcmp(replica(a) + begin, replica(b) + begin, end - begin) == 0;
  }
  void flush_equal(unsigned i, std::size_t begin, std::size_t end) {
    // Under a log nothing that an opener finds is not durable.
    if constexpr (!domain::logs_lines<D>) domain::flush<D>(replica(i) + begin, end - begin);
  }
  void copy_lines(unsigned from, unsigned to, std::size_t begin, std::size_t end) {
    D::write(replica(to) + begin, replica(from) + begin, end - begin);
    if (!is_volatile()) domain::flush<D>(replica(to) + begin, end - begin);
  }

  std::string name_;
  std::string region_name_;
  replica_place place_;
  std::optional<region_info> region_;
  std::vector<base::anonymous_memory> in_memory_;
  std::size_t bytes_ = 0;
  manager_record* record_ = nullptr;
  std::byte* owned_ = nullptr;  // the home, as long as the log knows that it is this session's
  std::uint64_t owner_ = 0;
  std::atomic<std::size_t> provided_{0};
  std::mutex providing_;                                // where not all replicas are in use
  std::unique_ptr<std::atomic<std::uint32_t>[]> used_;  // null: all are
  std::atomic<std::size_t> grown_from_{0};              // what was provided when more was asked for
  std::atomic<bool> grows_{false};
  base::periodic_thread growth_;  // ends first
};

}  // namespace outlast::tx::detail
