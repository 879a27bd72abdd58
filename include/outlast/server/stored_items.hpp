// A store as the key space of a server: items stay until they are erased or expire.
//
//   stored_items items(*store, {.path = "/var/lib/app/store"});
//   auto connection = make_resp_conversation(items, options, counters);
//
// When to use: for data that must not be evicted. When not to: for a cache with a bound, use
// cached_items. docs/formats/served_items.md describes the keys and values in the store.
#pragma once

#include <outlast/db/namespace.hpp>
#include <outlast/server/items.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace OUTLAST_DB_NAMESPACE {
class DB;
}  // namespace OUTLAST_DB_NAMESPACE

namespace outlast::server {

struct stored_items_options {
  std::string path = {};  ///< of the store, for error texts
  /// Every change is durable when the call that makes it returns. A read then returns only data
  /// that is durable. Concurrent changes share the waits for the device.
  bool sync = false;
  /// The store makes writes durable at return without `sync`, as on persistent memory, or over a
  /// kill on tmpfs. Every token is then reached when it is returned.
  bool is_durable_at_return = false;
  /// Number of keys whose last use is retained in ordinary memory, 8 bytes each. Rounded up to a
  /// power of two.
  std::size_t retained_uses = std::size_t{1} << 16;
};

/// The result of a sweep.
struct sweep_result {
  std::size_t visited = 0;  ///< items
  std::size_t removed = 0;  ///< items, most of them among these
  std::size_t parts = 0;    ///< parts that were removed
  bool is_at_end = false;   ///< the next sweep begins with the first item
};

/// The items in a store. A token is the number of a change since the space was opened. The token of
/// an item that is read can be that of a later change of another key in the same stripe.
///
/// The time of the last use and the mark of a read are in a table of a fixed size. They are unknown
/// after an opening, and if another key has replaced them.
/// A client can choose unique numbers. New numbers are greater than those that clients have chosen
/// below 2^63. New numbers do not follow a greater one; they reach it after 2^63 changes.
/// Items have parts. The first item that is no string makes the space one that programs before
/// version 2 of the format refuse. bytes() contains the parts that an item has lost until a sweep
/// removes them, because their removal costs a walk.
///
/// Thread-safety: as item_space. Progress: blocking. A change locks one of 512 stripes of keys. A
/// read waits only for the end of a change that it may have seen, and for together() and
/// erase_all(), which exclude all other calls. A read never delays a change of another key, except
/// read_parts(), which locks the stripe of its key: changes of the item wait for it.
/// Durability: with `sync`, or if the store makes writes durable at return: at return. Otherwise a
/// change survives a kill at return, and the store makes it durable after its max_unsynced_time.
/// durable_token() reports that after the next make_durable(). erase_all() is durable at return.
/// The removals of sweep() are durable with the next change that is, because their items are absent
/// before.
/// Every change is atomic over a crash, with that of the item's parts, and so is a call of
/// together().
/// Errors: as item_space. A full store throws out_of_space, or error{no_space} for a full file
/// system. Damage throws corruption. A failure of the device throws error{io_failure}; the state is
/// then as after a failed write of the store.
class stored_items final : public item_space {
 public:
  /// Attaches the space in `store`, and creates it in an empty one. Reads all items and parts once,
  /// to count them: about as long as an iteration of the store. Makes all of the store durable.
  /// Requires: `store` outlives the space, and no other program part uses it.
  /// Errors: error{not_a_pool} if the store has other keys or another order of keys,
  /// error{newer_version} for a later format, corruption, out_of_space, std::bad_alloc.
  explicit stored_items(db::DB& store, const stored_items_options& options = {});
  ~stored_items() override;

  bool read(std::string_view key, std::int64_t now_ms, use how, reader look) override;
  /// As item_space::modify(). Throws error{bad_argument} for a put of an item that is no string.
  change_result modify(std::string_view key, std::int64_t now_ms, decider decide) override;
  [[nodiscard]] bool has_parts() const override { return true; }
  bool read_parts(std::string_view key, std::int64_t now_ms, use how, parts_reader look) override;
  /// As item_space::modify_parts(). The changes of parts are in ordinary memory until `decide`
  /// returns. Throws error{bad_argument} if `decide` breaks its duties.
  change_result modify_parts(std::string_view key, std::int64_t now_ms,
                             parts_decider decide) override;
  /// As item_space::together(). The changes of `work` are in ordinary memory until it ends. A call
  /// within `work` belongs to the outer one. If the store refuses the changes, throws its error,
  /// also if `work` has thrown; no change has an effect then.
  void together(base::function_ref<void()> work) override;
  token erase_all(std::int64_t now_ms, std::int64_t from_ms) override;
  std::uint64_t scan(std::uint64_t cursor, std::size_t count, std::int64_t now_ms,
                     visitor visit) override;

  /// Removes what has expired or was erased among the next `count` items. After the last item, also
  /// visits the sets of parts, which count as items, and removes those that have lost their items.
  /// Sets that have lost their items since the last sweep are removed first. A call removes at most
  /// 16 parts for each of `count`. Continues where the last call has stopped. An item that was
  /// stored again stays. Calls exclude each other. Requires: the call is not within together().
  /// Throws as a change; the next call continues.
  sweep_result sweep(std::int64_t now_ms, std::size_t count);
  /// Waits until all changes before this call are durable; durable_token() reports them afterwards.
  /// Throws as a change.
  void make_durable();

  [[nodiscard]] std::uint64_t items() const override;
  [[nodiscard]] std::uint64_t bytes() const override;
  [[nodiscard]] std::uint64_t limit_bytes() const override { return 0; }
  [[nodiscard]] std::uint64_t evictions() const override { return 0; }
  [[nodiscard]] token durable_token() const override;
  [[nodiscard]] token present_token() const override;
  [[nodiscard]] std::string guarantee() const override;

 private:
  class space;

  std::unique_ptr<space> space_;
};

}  // namespace outlast::server
