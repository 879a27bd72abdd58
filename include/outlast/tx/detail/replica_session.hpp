// The in-memory state that engines share while a transaction manager is attached.
#pragma once

#include <outlast/domain/persist.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/root/root_session.hpp>
#include <outlast/tx/detail/changed_pages.hpp>
#include <outlast/tx/detail/commit_log.hpp>
#include <outlast/tx/detail/commit_log_region.hpp>
#include <outlast/tx/detail/record.hpp>
#include <outlast/tx/detail/replica_copy.hpp>
#include <outlast/tx/detail/replica_region.hpp>
#include <outlast/tx/detail/replica_space.hpp>
#include <outlast/tx/detail/working_replicas.hpp>
#include <outlast/tx/detail/write_set.hpp>
#include <outlast/tx/heap.hpp>
#include <outlast/tx/options.hpp>
#include <outlast/tx/transaction.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace outlast::tx::detail {

/// The base of each engine's session. The root's object is a manager_record. The parts:
///
///   replica_region      record and region on media: creation, opening, checks
///   commit_log_region   the commit log's region, and its replay
///   working_replicas    the replicas on which the engine works
///   replica_space       the space of the replicas in the file
///   replica_copy        copies between replicas
///
/// Thread-safety: replica() and bytes() may be called concurrently. The engine defines which other
/// members may.
template <domain::persistence_domain D>
class replica_session : public roots::root_session<D> {
  using base_type = roots::root_session<D>;

 public:
  /// `replicas`: used when the manager is created.
  replica_session(basic_pool<D>& in, const attached_root& root, const std::string& name,
                  engine_kind engine, unsigned replicas, const options& wanted,
                  replica_place place = replica_place::media)
      : base_type(in, root),
        log_region_(in, name),
        region_(*this, name, engine, replicas, wanted, place, log_region_),
        space_(in, region_, place == replica_place::memory && region_.has_one_on_media()),
        replicas_(region_) {
    if (!is_fresh() && region_.named() < region_.info().replicas) {
      log_region_.replay(state(), region_.named_bytes(), bytes());
    }
    if (place == replica_place::memory) {
      region_.require_replicas(wanted);
      require_named();
      replicas_.begin_in_memory(wanted.replicas, home_bytes());
    } else if (region_.has_one_on_media() && !is_fresh()) {
      require_named();
      provide(used(region_.named()).pages_end);
    }
  }

  // The pool may have been closed.
  ~replica_session() override { replicas_.disown_home(); }

  void collect_all() override {}
  /// The next owner of the region may store to it at any time.
  void before_drop() override { replicas_.disown_home(); }

  [[nodiscard]] std::byte* replica(unsigned i) const noexcept { return replicas_.at(i); }
  [[nodiscard]] std::size_t bytes() const noexcept { return replicas_.bytes(); }
  /// The number of replicas on which the engine works.
  [[nodiscard]] unsigned replicas() const noexcept { return replicas_.count(); }
  [[nodiscard]] const std::string& name() const noexcept { return region_.name(); }
  /// Returns the bytes of ordinary memory that replicas take there, with the private pages of the
  /// one on media; 0 if the replicas are in the pool. `pages_end`: where the pages in use end.
  [[nodiscard]] std::size_t replica_memory(std::size_t pages_end) const noexcept {
    return replicas_.memory_bytes(std::max(pages_end, space_.provided()));
  }

  /// Throws error{bad_argument} if the manager was created with options other than `wanted`.
  void require_made_as(const options& wanted) const { region_.require_made_as(wanted); }

  // ---- For verification ----

  [[nodiscard]] const std::atomic<std::uint64_t>& durable_word() const noexcept { return state(); }
  /// The replica that `word`, as a durable word, names.
  [[nodiscard]] unsigned named_by(std::uint64_t word) const noexcept {
    return region_.named_by(word);
  }

 protected:
  [[nodiscard]] std::atomic<std::uint64_t>& state() const noexcept { return region_.state(); }
  /// The offset of replica `i` in the pool. Requires: the replicas are in the pool.
  [[nodiscard]] std::uint64_t offset_of_replica(unsigned i) const noexcept {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(replica(i)) -
                                      region_.pool_base());
  }
  [[nodiscard]] bool is_fresh() const noexcept { return this->root().state == root_state::fresh; }
  [[nodiscard]] std::size_t page_bytes() const noexcept { return region_.page_bytes(); }
  [[nodiscard]] const std::string& pool_path() const noexcept { return region_.pool_path(); }
  /// Throws corruption unless the word on media names a replica that begins as a heap does.
  void require_named() const { region_.require_named(); }

  /// An update of replica `i`.
  [[nodiscard]] transaction writing(unsigned i, write_set& written) noexcept {
    return {this, replica(i), bytes(), written, writer_of<D>(), [](void* self, std::size_t wanted) {
              static_cast<replica_session*>(self)->provide(wanted);
            }};
  }
  /// An update of replica `i` without a write set: it cannot be undone.
  [[nodiscard]] transaction writing_unnoted(unsigned i) noexcept {
    return {this, replica(i), bytes(), [](void* self, std::size_t wanted) {
              static_cast<replica_session*>(self)->provide(wanted);
            }};
  }
  [[nodiscard]] transaction reading(unsigned i) const noexcept {
    return {this, replica(i), bytes()};
  }

  // See working_replicas.
  [[nodiscard]] std::byte* line_at(unsigned i, line_number line) const noexcept {
    return replicas_.line_at(i, line);
  }
  void flush_line(unsigned i, line_number line, domain::site where = domain::site::current()) {
    replicas_.flush_line(i, line, where);
  }
  void stage_lines(domain::site where = domain::site::current()) { replicas_.stage_lines(where); }
  [[nodiscard]] heap::extent used(unsigned i) const noexcept { return replicas_.used(i); }

  // See replica_copy.
  void copy_differing(unsigned from, unsigned to) {
    replica_copy<D>(replicas_, from, to).differing_lines();
  }
  void copy_changed(unsigned from, unsigned to, const changed_pages<D>& pages,
                    std::uint64_t number) {
    replica_copy<D>(replicas_, from, to).changed_since(number, pages);
  }

  // See replica_space.
  void provide(std::size_t wanted) { space_.provide(wanted); }
  [[nodiscard]] bool use_replica(unsigned i) { return space_.use_replica(i); }
  void use_two_at_first() { space_.use_first_two(used(region_.named()).pages_end); }
  void stop_growing() { space_.stop_growing(); }
  void abandon_growing() noexcept { space_.abandon_growing(); }

  // With replicas in memory: the base image, which is the replica that the word on media names.
  [[nodiscard]] unsigned home() const noexcept { return region_.named(); }
  [[nodiscard]] std::byte* home_bytes() const noexcept { return region_.named_bytes(); }
  [[nodiscard]] std::unique_ptr<commit_log<D>> open_commit_log() {
    return log_region_.open(bytes());
  }
  /// Returns the space that the base image and its log do not need to the file system. For a clean
  /// close.
  void give_back_space() {
    space_.give_back(home(), heap::used(header_at(home_bytes())).pages_end);
    log_region_.give_back_space();
  }

 private:
  commit_log_region<D> log_region_;
  replica_region<D> region_;
  replica_space<D> space_;
  working_replicas<D> replicas_;
};

}  // namespace outlast::tx::detail
