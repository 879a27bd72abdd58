// The directory of named roots. Used by the pool only, under its mutex.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/pool/format.hpp>
#include <outlast/pool/impl/entry_table.hpp>
#include <outlast/pool/pages/page_space.hpp>
#include <outlast/pool/root.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace outlast::pool_impl {

template <domain::persistence_domain D>
class root_directory {
 public:
  using root_entry = pool_format::root_entry;

  /// Adds a chunk with `count` entries, zeros, as chunk `chunk` of the table, durably, and returns
  /// its first entry; nullptr if the pool cannot have more roots. Throws out_of_space.
  using add_function = std::function<root_entry*(unsigned chunk, std::uint32_t count)>;

  /// `space_bytes`: the address space of the pool when it is opened. It can become longer, but not
  /// up to a recorded base.
  root_directory(entry_table<root_entry> entries, add_function add, page_space<D>& pages,
                 std::uint64_t space_bytes, const std::string& path)
      : entries_(entries),
        add_(std::move(add)),
        pages_(pages),
        space_bytes_(space_bytes),
        path_(path),
        attached_(entries.count(), false) {}

  [[nodiscard]] attached_root attach(std::string_view name, std::string_view type_name,
                                     std::uint64_t fingerprint, bool relocatable);
  void publish(std::uint32_t index, std::uint64_t object_offset);
  void relocated(std::uint32_t index);
  void detach(std::uint32_t index, bool occupancy_was_saved);
  /// Marks the root as being dropped, durably, and returns its index. Until end_drop() or
  /// cancel_drop() it counts as attached. The caller frees its runs meanwhile, for which it needs
  /// no mutex.
  [[nodiscard]] std::uint32_t begin_drop(std::string_view name);
  /// Removes the entry of a root whose runs were freed.
  void end_drop(std::uint32_t index);
  /// Leaves the entry to the next drop, attach or opening.
  void cancel_drop(std::uint32_t index) noexcept { attached_[index] = false; }
  [[nodiscard]] std::vector<root_info> list() const;

  /// Returns whether a crash left a half-created or half-dropped root.
  [[nodiscard]] bool unfinished() const;
  /// Called at open: removes such roots. Re-entrant.
  void undo_unfinished();
  /// Called at salvage: invalidates all saved occupancy.
  void forget_occupancy();

 private:
  static constexpr auto relaxed = std::memory_order_relaxed;
  static constexpr auto acquire = std::memory_order_acquire;
  static constexpr auto release = std::memory_order_release;

  [[nodiscard]] std::uintptr_t base() const noexcept {
    return reinterpret_cast<std::uintptr_t>(pages_.base());
  }
  [[nodiscard]] static std::uint64_t state_of(const root_entry& entry) {
    return D::load(entry.state, acquire);
  }
  [[nodiscard]] static bool known_state(std::uint64_t state) noexcept {
    return state == pool_format::entry_free || state == pool_format::entry_creating ||
           state == pool_format::entry_live || state == pool_format::entry_dropping;
  }
  [[nodiscard]] static bool unfinished_entry(const root_entry& entry) {
    const std::uint64_t state = state_of(entry);
    return state == pool_format::entry_creating || state == pool_format::entry_dropping;
  }
  [[nodiscard]] static bool damaged(const root_entry& entry) {
    const std::uint64_t state = state_of(entry);
    return !known_state(state) ||
           (state != pool_format::entry_free && !pool_format::intact(entry.identity));
  }
  /// The end of every call of the pool.
  static void set(std::atomic<std::uint64_t>& word, std::uint64_t value,
                  domain::site where = domain::site::current()) {
    D::store(word, value, release, where);
    domain::persist_before_return<D>(&word, sizeof word, where);
  }

  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view name) const;
  [[nodiscard]] root_entry& at(std::uint32_t index, const char* action) const;
  void require_name(std::string_view name) const;
  void require_undamaged() const;
  [[nodiscard]] std::uint32_t free_entry();
  [[nodiscard]] attached_root create(std::string_view name, std::string_view type_name,
                                     std::uint64_t fingerprint, bool relocatable);
  [[nodiscard]] attached_root attach_live(std::uint32_t index, std::string_view type_name,
                                          std::uint64_t fingerprint, bool relocatable);
  void require_type(const root_entry& entry, std::string_view type_name,
                    std::uint64_t fingerprint) const;
  void require_object(const root_entry& entry) const;
  void require_bases(const root_entry& entry) const;
  void add_base(root_entry& entry, bool relocatable) const;
  static void report_bases(const root_entry& entry, std::uintptr_t base, attached_root& root);
  void remove(std::uint32_t index);
  void begin_removal(root_entry& entry);
  void end_removal(std::uint32_t index);

  void grow();
  void index_names() const;

  entry_table<root_entry> entries_;
  add_function add_;
  page_space<D>& pages_;
  std::uint64_t space_bytes_;
  const std::string& path_;
  std::vector<bool> attached_;
  std::uint32_t first_free_ = 0;  // entries before it are in use
  // Built when the first name is looked up; the entries are the truth.
  mutable std::unordered_map<std::string, std::uint32_t> names_;
  mutable std::optional<std::uint32_t> damaged_entry_;
  mutable bool names_are_indexed_ = false;
};

template <domain::persistence_domain D>
attached_root root_directory<D>::attach(std::string_view name, std::string_view type_name,
                                        std::uint64_t fingerprint, bool relocatable) {
  require_name(name);
  std::optional<std::uint32_t> index = find(name);
  if (index && attached_[*index]) {
    const bool is_dropped = state_of(entries_[*index]) == pool_format::entry_dropping;
    throw error(errc::already_open, path_,
                "the root '" + std::string(name) +
                    (is_dropped ? "' is being dropped by another thread; try again afterwards"
                                : "' is in use by another object of this process; share that "
                                  "object"));
  }
  if (index && state_of(entries_[*index]) != pool_format::entry_live) {
    remove(*index);
    index.reset();
  }
  if (index) return attach_live(*index, type_name, fingerprint, relocatable);
  require_undamaged();
  return create(name, type_name, fingerprint, relocatable);
}

template <domain::persistence_domain D>
attached_root root_directory<D>::create(std::string_view name, std::string_view type_name,
                                        std::uint64_t fingerprint, bool relocatable) {
  const std::uint32_t index = free_entry();
  root_entry& entry = entries_[index];
  pool_format::root_identity identity{};
  pool_format::set_text(identity.name, name);
  pool_format::set_text(identity.type_name, type_name);
  identity.fingerprint = fingerprint;
  identity.flags = relocatable ? pool_format::root_is_relocatable : 0;
  pool_format::seal(identity);
  D::write(&entry.identity, &identity, sizeof identity);
  D::store(entry.object_offset, 0, release);
  D::store(entry.object_check, 0, release);
  D::store(entry.occupancy_valid, 0, release);
  for (auto& word : entry.bases) D::store(word, 0, release);
  D::store(entry.bases[0], base(), release);
  // (P1) persisted-before (P2): an entry that is not free is complete.
  domain::persist<D>(&entry, sizeof entry);
  names_.emplace(name, index);
  pages_.note_new_root(index);
  // (P2) the entry is taken.
  set(entry.state, pool_format::entry_creating);
  attached_[index] = true;
  return {index, root_state::fresh, 0, base(), {}};
}

template <domain::persistence_domain D>
attached_root root_directory<D>::attach_live(std::uint32_t index, std::string_view type_name,
                                             std::uint64_t fingerprint, bool relocatable) {
  root_entry& entry = entries_[index];
  require_type(entry, type_name, fingerprint);
  require_object(entry);
  require_bases(entry);
  add_base(entry, relocatable);
  const bool clean = D::load(entry.occupancy_valid, acquire) == pool_format::occupancy_saved;
  if (clean) set(entry.occupancy_valid, 0);
  attached_[index] = true;
  attached_root root{index,
                     clean ? root_state::clean : root_state::needs_recovery,
                     D::load(entry.object_offset, acquire),
                     base(),
                     {}};
  report_bases(entry, base(), root);
  return root;
}

template <domain::persistence_domain D>
void root_directory<D>::publish(std::uint32_t index, std::uint64_t object_offset) {
  root_entry& entry = at(index, "publish");
  if (state_of(entry) != pool_format::entry_creating) {
    throw error(
        errc::bad_argument, path_,
        "root " + std::to_string(index) +
            " is published already; publish_root() must be called once, after its creation");
  }
  D::store(entry.object_offset, object_offset, release);
  D::store(entry.object_check, pool_format::check_word(object_offset), release);
  // (P3) persisted-before (P4): a live entry names its object.
  domain::persist<D>(&entry, pool_format::line_bytes);
  // (P4) the entry becomes live.
  set(entry.state, pool_format::entry_live);
}

template <domain::persistence_domain D>
void root_directory<D>::relocated(std::uint32_t index) {
  root_entry& entry = at(index, "relocate");
  // Each word is changed alone: an entry with too many bases is always valid.
  for (auto& word : entry.bases) {
    const std::uint64_t old = D::load(word, acquire);
    if (old != 0 && old != base()) set(word, 0);
  }
}

template <domain::persistence_domain D>
void root_directory<D>::detach(std::uint32_t index, bool occupancy_was_saved) {
  if (index >= entries_.count()) (void)at(index, "detach");
  root_entry& entry = entries_[index];
  const std::uint64_t state = state_of(entry);
  if (state == pool_format::entry_creating) {
    remove(index);
  } else if (state == pool_format::entry_live && occupancy_was_saved) {
    set(entry.occupancy_valid, pool_format::occupancy_saved);
  }
  attached_[index] = false;
}

template <domain::persistence_domain D>
std::uint32_t root_directory<D>::begin_drop(std::string_view name) {
  const std::optional<std::uint32_t> index = find(name);
  if (!index) {
    throw error(errc::not_found, path_, "there is no root '" + std::string(name) + "' to drop");
  }
  if (attached_[*index]) {
    throw error(errc::already_open, path_,
                "the root '" + std::string(name) + "' is in use; destroy its object first");
  }
  begin_removal(entries_[*index]);
  attached_[*index] = true;
  return *index;
}

template <domain::persistence_domain D>
void root_directory<D>::end_drop(std::uint32_t index) {
  end_removal(index);
}

template <domain::persistence_domain D>
std::vector<root_info> root_directory<D>::list() const {
  std::vector<root_info> result;
  for (std::uint32_t i = 0; i < entries_.count(); ++i) {
    const root_entry& entry = entries_[i];
    if (state_of(entry) == pool_format::entry_free || damaged(entry)) continue;
    result.push_back({std::string(pool_format::text_of(entry.identity.name)),
                      std::string(pool_format::text_of(entry.identity.type_name)),
                      entry.identity.fingerprint, i, state_of(entry) == pool_format::entry_live,
                      attached_[i], (entry.identity.flags & pool_format::root_is_relocatable) != 0,
                      D::load(entry.occupancy_valid, acquire) == pool_format::occupancy_saved,
                      D::load(entry.object_offset, acquire)});
  }
  return result;
}

template <domain::persistence_domain D>
bool root_directory<D>::unfinished() const {
  for (std::uint32_t i = 0; i < entries_.count(); ++i) {
    if (unfinished_entry(entries_[i])) return true;
  }
  return false;
}

template <domain::persistence_domain D>
void root_directory<D>::undo_unfinished() {
  for (std::uint32_t i = 0; i < entries_.count(); ++i) {
    if (unfinished_entry(entries_[i])) remove(i);
  }
}

template <domain::persistence_domain D>
void root_directory<D>::forget_occupancy() {
  for (std::uint32_t i = 0; i < entries_.count(); ++i) {
    if (D::load(entries_[i].occupancy_valid, acquire) != 0) set(entries_[i].occupancy_valid, 0);
  }
}

/// Returns any entry that is not free. The caller handles an entry that is half created or half
/// dropped.
template <domain::persistence_domain D>
std::optional<std::uint32_t> root_directory<D>::find(std::string_view name) const {
  index_names();
  const auto found = names_.find(std::string(name));
  if (found == names_.end()) return std::nullopt;
  return found->second;
}

/// Reads all entries once. A damaged one has no name.
template <domain::persistence_domain D>
void root_directory<D>::index_names() const {
  if (names_are_indexed_) return;
  names_.clear();
  damaged_entry_.reset();
  for (std::uint32_t i = 0; i < entries_.count(); ++i) {
    if (state_of(entries_[i]) == pool_format::entry_free) continue;
    if (damaged(entries_[i])) {
      if (!damaged_entry_) damaged_entry_ = i;
    } else {
      names_.emplace(pool_format::text_of(entries_[i].identity.name), i);
    }
  }
  names_are_indexed_ = true;
}

template <domain::persistence_domain D>
pool_format::root_entry& root_directory<D>::at(std::uint32_t index, const char* action) const {
  if (index < entries_.count() && attached_[index]) return entries_[index];
  throw error(
      errc::bad_argument, path_,
      "cannot " + std::string(action) + " root " + std::to_string(index) + ": it is not attached");
}

template <domain::persistence_domain D>
void root_directory<D>::require_name(std::string_view name) const {
  if (!name.empty() && name.size() < pool_format::root_name_bytes &&
      name.find('\0') == std::string_view::npos) {
    return;
  }
  throw error(errc::bad_argument, path_,
              "the name of a root has " + std::to_string(name.size()) +
                  " bytes; it must have 1 to 63, none of them zero");
}

/// A damaged entry may be the requested one: no root is created while there is one.
template <domain::persistence_domain D>
void root_directory<D>::require_undamaged() const {
  index_names();
  if (!damaged_entry_) return;
  throw corruption(path_, "entry " + std::to_string(*damaged_entry_) +
                              " of the root directory is damaged, so that no root can be "
                              "created; see 'outlast check' and restore a backup");
}

template <domain::persistence_domain D>
std::uint32_t root_directory<D>::free_entry() {
  for (;; grow()) {
    for (; first_free_ < entries_.count(); ++first_free_) {
      if (state_of(entries_[first_free_]) == pool_format::entry_free) return first_free_;
    }
  }
}

template <domain::persistence_domain D>
void root_directory<D>::grow() {
  const unsigned chunk = entries_.chunks();
  const std::uint64_t count = entries_.by().count_of(chunk);
  const bool is_named = entries_.count() + count <= pool_format::most_owners;
  attached_.reserve(entries_.count() + (is_named ? count : 0));  // nothing may fail after the chunk
  root_entry* const added = is_named ? add_(chunk, static_cast<std::uint32_t>(count)) : nullptr;
  if (added == nullptr) {
    throw error(errc::roots_exhausted, path_,
                "all " + std::to_string(entries_.count()) + " roots of the pool are in use; drop " +
                    "one, or, if the pool has format version 1, run 'outlast upgrade'");
  }
  entries_.add(added, static_cast<std::uint32_t>(count));
  attached_.resize(entries_.count(), false);
}

template <domain::persistence_domain D>
void root_directory<D>::require_type(const root_entry& entry, std::string_view type_name,
                                     std::uint64_t fingerprint) const {
  if (entry.identity.fingerprint == fingerprint) return;
  throw error(errc::root_type_mismatch, path_,
              "the root '" + std::string(pool_format::text_of(entry.identity.name)) +
                  "' was created as '" +
                  std::string(pool_format::text_of(entry.identity.type_name)) +
                  "' and cannot be opened as '" + std::string(type_name) +
                  "'; use the type it was created with, or another name");
}

template <domain::persistence_domain D>
void root_directory<D>::require_object(const root_entry& entry) const {
  const std::uint64_t offset = D::load(entry.object_offset, acquire);
  if (D::load(entry.object_check, acquire) == pool_format::check_word(offset) &&
      pages_.contains_offset(offset)) {
    return;
  }
  throw corruption(path_, "the root '" + std::string(pool_format::text_of(entry.identity.name)) +
                              "' names an object at offset " + std::to_string(offset) +
                              ", which is damaged; restore a backup");
}

/// Validates the bases by which pointers are moved: a wrong one would turn null into a pointer.
template <domain::persistence_domain D>
void root_directory<D>::require_bases(const root_entry& entry) const {
  std::array<std::uint64_t, pool_format::root_bases + 1> known{base()};
  std::transform(std::begin(entry.bases), std::end(entry.bases), known.begin() + 1,
                 [](const auto& word) { return D::load(word, acquire); });
  if (pool_format::are_apart(known, space_bytes_)) return;
  throw corruption(path_, "the root '" + std::string(pool_format::text_of(entry.identity.name)) +
                              "' records base addresses that cannot all be true; restore a backup");
}

/// Records that pointers may be relative to the present base, durably before any is.
template <domain::persistence_domain D>
void root_directory<D>::add_base(root_entry& entry, bool relocatable) const {
  std::atomic<std::uint64_t>* unused = nullptr;
  bool moved = false;
  bool known = false;
  for (auto& word : entry.bases) {
    const std::uint64_t recorded = D::load(word, acquire);
    if (recorded == 0) unused = &word;
    known = known || recorded == base();
    moved = moved || (recorded != 0 && recorded != base());
  }
  if (moved && (!relocatable || (!known && unused == nullptr))) {
    throw error(errc::address_taken, path_,
                "the pool's address range was taken, so it is mapped elsewhere, and the root '" +
                    std::string(pool_format::text_of(entry.identity.name)) +
                    "' cannot be moved; open the pool in a process that leaves the range free");
  }
  if (!known && unused != nullptr) set(*unused, base());
}

template <domain::persistence_domain D>
void root_directory<D>::report_bases(const root_entry& entry, std::uintptr_t base,
                                     attached_root& root) {
  std::size_t others = 0;
  for (const auto& word : entry.bases) {
    const auto recorded = static_cast<std::uintptr_t>(D::load(word, acquire));
    if (recorded == 0 || recorded == base) continue;
    if (root.pointers_base == base) {
      root.pointers_base = recorded;
    } else if (others < root.other_bases.size()) {
      root.other_bases[others++] = recorded;
    }
  }
}

/// Frees the pages of the entry, then the entry. undo_unfinished() completes it after a crash.
template <domain::persistence_domain D>
void root_directory<D>::remove(std::uint32_t index) {
  begin_removal(entries_[index]);
  pages_.free_runs_of(index);
  end_removal(index);
}

template <domain::persistence_domain D>
void root_directory<D>::begin_removal(root_entry& entry) {
  // (P5) persisted-before (P6): pages are freed only under an entry that can no longer be attached.
  if (state_of(entry) == pool_format::entry_live) set(entry.state, pool_format::entry_dropping);
}

template <domain::persistence_domain D>
void root_directory<D>::end_removal(std::uint32_t index) {
  root_entry& entry = entries_[index];
  if (names_are_indexed_) names_.erase(std::string(pool_format::text_of(entry.identity.name)));
  // (P6) the entry is free again.
  set(entry.state, pool_format::entry_free);
  attached_[index] = false;
  first_free_ = std::min(first_free_, index);
}

}  // namespace outlast::pool_impl
