// The record and the region that a transaction manager has on media: creation, opening, checks.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/base/outside_readers.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/pool/region.hpp>
#include <outlast/root/root_session.hpp>
#include <outlast/tx/detail/commit_log_region.hpp>
#include <outlast/tx/detail/record.hpp>
#include <outlast/tx/detail/write_set.hpp>
#include <outlast/tx/heap.hpp>
#include <outlast/tx/options.hpp>
#include <outlast/tx/transaction.hpp>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace outlast::tx::detail {

/// The location of the replicas on which an engine works.
enum class replica_place {
  media,   ///< in the pool
  memory,  ///< in ordinary memory; media have one, the base image, which a log brings up to date
};

/// A manager_record, and a region of replicas with the same name. The region outlives the root: a
/// manager that is created later under the name uses it again.
///
/// Thread-safety: constant members may be called concurrently.
template <domain::persistence_domain D>
class replica_region {
 public:
  /// Creates or opens the record and the region of the root of `in`. `replicas` is used only for
  /// creation. Durable at return.
  replica_region(roots::root_session<D>& in, const std::string& name, engine_kind engine,
                 unsigned replicas, const options& wanted, replica_place place,
                 commit_log_region<D>& log)
      : in_(in), name_(name), region_name_("tx:" + name), place_(place) {
    if (in.root().state == root_state::fresh) {
      create(engine, replicas, wanted, log);
    } else {
      open(engine);
    }
  }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// The name of the region.
  [[nodiscard]] const std::string& region_name() const noexcept { return region_name_; }
  [[nodiscard]] const region_info& info() const noexcept { return *region_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return region_->bytes; }
  [[nodiscard]] std::size_t page_bytes() const noexcept { return record_->page_bytes; }
  /// True if files have space only for the replica that the durable word names.
  [[nodiscard]] bool has_one_on_media() const noexcept { return record_->one_on_media != 0; }

  /// The durable word.
  [[nodiscard]] std::atomic<std::uint64_t>& state() const noexcept { return record_->state; }
  /// The replica that `word`, as a durable word, names.
  [[nodiscard]] unsigned named_by(std::uint64_t word) const noexcept {
    const std::uint64_t mask = record_->engine == engine_kind::left_right ? 1 : 0xffff;
    return static_cast<unsigned>(word & mask);
  }
  /// The replica that the durable word on media names. See require_named().
  [[nodiscard]] unsigned named() const noexcept {
    return named_by(state().load(std::memory_order_relaxed));
  }
  [[nodiscard]] std::byte* named_bytes() const noexcept { return region_->replica(named()); }

  /// Throws corruption unless the word on media names a replica that begins as a heap does.
  void require_named() const {
    if (named() >= region_->replicas) {
      throw corruption(pool_path(), "the durable word of the transactions '" + name_ +
                                        "' names a replica that does not exist; restore a backup");
    }
    const std::string damage =
        heap::damage(*reinterpret_cast<const heap_header*>(named_bytes()), bytes());
    if (damage.empty()) return;
    throw corruption(pool_path(), "the heap of the transactions '" + name_ + "' " + damage +
                                      "; restore a backup");
  }
  /// Throws error{bad_argument} if the manager was created with options other than `wanted`.
  void require_made_as(const options& wanted) const {
    constexpr options usual;
    if (wanted.replica_bytes != 0 && bytes_of_replica(wanted.replica_bytes) > bytes()) {
      refuse_wish("replica_bytes", wanted.replica_bytes, bytes());
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
  void require_replicas(const options& wanted) const {
    if (wanted.replicas < 2 || wanted.replicas > 4096) {
      throw error(errc::bad_argument, pool_path(), "options.replicas must be from 2 to 4096");
    }
  }

  [[nodiscard]] const std::string& pool_path() const noexcept { return in_.pool().path(); }
  [[nodiscard]] std::uintptr_t pool_base() const noexcept { return in_.pool().base(); }

 private:
  void create(engine_kind engine, unsigned replicas, const options& wanted,
              commit_log_region<D>& log) {
    require_options(wanted);
    // (P1) persisted-before (P2): a record names a region that exists.
    reserve(replicas, wanted);
    log.forget_earlier();
    const unsigned on_media = place_ == replica_place::memory ? 1 : replicas;
    format(wanted.page_bytes, on_media);
    record_ = static_cast<manager_record*>(
        in_.arena().allocate(sizeof(manager_record), alignof(manager_record)));
    D::zero(record_, sizeof(manager_record));
    manager_record made{};
    made.magic = manager_record::right_magic;
    made.version = manager_record::known_version;
    made.engine = engine;
    made.replicas = replicas;
    made.page_bytes = static_cast<std::uint32_t>(wanted.page_bytes);
    made.replica_bytes = bytes();
    made.one_on_media = on_media == 1 ? 1 : 0;
    made.checksum = checksum_of(made);
    D::write(record_, &made, offsetof(manager_record, state));
    domain::persist<D>(record_, sizeof(manager_record));
    in_.pool().publish_root(in_.root().index, record_);  // (P2) the manager exists.
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

  /// Takes the region of that name. One can be left from a manager that was dropped, or whose
  /// creation did not complete.
  void reserve(unsigned replicas, const options& wanted) {
    region_ = in_.pool().find_region(region_name_);
    if (!region_) {
      const std::size_t share = in_.pool().usual_bytes() / (replicas + 1);
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
  }
  void reserve_replicas(unsigned replicas, std::size_t bytes) {
    try {
      region_ = in_.pool().reserve_region(region_name_, region_kind::replicas, bytes, replicas);
    } catch (const out_of_space& full) {
      throw out_of_space(
          "the transactions '" + name_ + "' want " + std::to_string(replicas) + " replicas of " +
          std::to_string(bytes) +
          " bytes, which options.replica_bytes decides (0: a manager takes most of the pool): " +
          full.what());
    }
  }

  /// Writes an empty heap to the first `replicas`. Durable at return.
  void format(std::size_t page_bytes, unsigned replicas) {
    if (bytes() < min_heap(page_bytes)) {
      throw error(errc::too_small, pool_path(),
                  "a replica of " + std::to_string(bytes()) + " bytes cannot hold pages of " +
                      std::to_string(page_bytes));
    }
    for (unsigned i = 0; i < replicas; ++i) {
      std::byte* const at = region_->replica(i);
      await_readers_of(at);
      in_.pool().commit_region(region_name_, i, 0, sizeof(heap_header));
      write_set written;
      transaction formatting(this, at, bytes(), written, writer_of<D>(), nullptr);
      const running_scope now(formatting);
      heap(formatting).format(page_bytes);
      written.for_each([&](line_number line) {
        domain::flush<D>(at + line * base::cache_line_size, base::cache_line_size);
      });
    }
    domain::fence<D>();
  }

  /// Readers in other processes may still read a replica of an earlier manager of this name.
  void await_readers_of(const std::byte* replica) const {
    base::outside_readers* const readers = in_.pool().outside_readers();
    const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(replica) - pool_base();
    if (readers == nullptr || readers->await_replica(offset)) return;
    throw error(errc::refused, pool_path(),
                "a reader in another process reads the dropped transactions '" + name_ +
                    "' for longer than pool_options::reader_patience_ms; end that process, or "
                    "choose another name");
  }

  void open(engine_kind engine) {
    record_ = in_.template object<manager_record>();
    require_record(*record_, engine, pool_path(), name_);
    region_ = in_.pool().find_region(region_name_);
    if (!region_ || region_->replicas != record_->replicas ||
        region_->bytes != record_->replica_bytes || !is_page(record_->page_bytes) ||
        region_->bytes < min_heap(record_->page_bytes)) {
      throw corruption(pool_path(), "the region '" + region_name_ +
                                        "' does not exist, or has another size than the header of "
                                        "its transactions records; restore a backup");
    }
    if (in_.root().state == root_state::clean) {
      in_.arena().load_clean();
    } else {
      auto marking = in_.arena().begin_recovery();
      marking.mark(record_);
      marking.finish();
    }
    if (in_.root().pointers_base != in_.pool().base()) {
      in_.pool().root_relocated(in_.root().index);
    }
  }

  [[noreturn]] void refuse_wish(const char* option, std::uint64_t wanted, std::uint64_t has) const {
    throw error(errc::bad_argument, pool_path(),
                std::string("options.") + option + " is " + std::to_string(wanted) +
                    ", and the transactions '" + name_ + "' have " + std::to_string(has) +
                    ", fixed when they were created; leave the option out, or choose another name");
  }

  roots::root_session<D>& in_;
  const std::string name_;
  const std::string region_name_;
  const replica_place place_;
  std::optional<region_info> region_;  // always set once constructed
  manager_record* record_ = nullptr;
};

}  // namespace outlast::tx::detail
