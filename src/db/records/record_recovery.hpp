// The creation and the recovery of a store of records.
#pragma once

#include <outlast/base/parallel.hpp>
#include <outlast/domain/parallel.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <src/db/records/record_store.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::store_detail::records {

template <domain::persistence_domain D, class Shape>
record_store<D, Shape>::record_store(typename base_type::pool_type& in, const attached_root& root,
                                     const named_order& order, bool salvage, kept_region* region)
    : base_type(in, root, pool_format::recovery_mode::scan),
      pool_base_(in.base()),
      epochs_(in.template service<epochs_type>()),
      kept_(region == nullptr ? nullptr : std::make_unique<kept_index<D, Shape>>(*region)),
      segments_(this->arena(), in.base()),
      index_(order.order, key_of_slot{this}),
      locks_(order.order),
      hands_([this](std::uint32_t) { return make_hand(); }) {
  if (root.state == root_state::fresh) {
    create(order);
  } else {
    open(order, salvage);
  }
}

template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::create(const named_order& order) {
  const std::size_t bytes = sizeof(store_header) + order.name.size();
  std::vector<std::byte> made(bytes);
  auto& header = *new (made.data()) store_header{};
  header.life.store(1, relaxed);
  header.version = store_header::known_version;
  header.origin = random_origin();
  header.name_bytes = static_cast<std::uint32_t>(order.name.size());
  std::memcpy(made.data() + sizeof header, order.name.data(), order.name.size());
  header.check = header.right_check();
  header_ = static_cast<store_header*>(
      this->arena().allocate(bytes, std::max(alignof(store_header), base::cache_line_size)));
  D::write(header_, made.data(), bytes);
  domain::persist<D>(header_, bytes);
  order_name_ = order.name;
  segments_.set_secret(secret());
  segments_.number_from(1, 1);
  if (kept_ != nullptr) begin_index();
  if constexpr (is_grouped) begin_marks();
  this->pool().publish_root(this->root().index, header_);
  if (kept_ != nullptr) kept_->confirm(1, header_->origin);
}

/// Returns a number that another store in the same root does not have.
template <domain::persistence_domain D, class Shape>
std::uint64_t record_store<D, Shape>::random_origin() {
  if constexpr (!domain::has_real_threads<D>) return 1;  // simulated executions are repeated
  std::uint64_t origin = 0;
  const auto random = pool_detail::random_uuid();
  std::memcpy(&origin, random.data(), sizeof origin);
  return origin;
}
/// Returns the number that makes the salts of this store differ from those of others.
template <domain::persistence_domain D, class Shape>
std::uint64_t record_store<D, Shape>::secret() {
  const auto& uuid = this->pool().uuid();
  return seeded_hash(uuid.data(), uuid.size(), header_->origin);
}

template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::open(const named_order& order, bool salvage) {
  read_header(order);
  segments_.set_secret(secret());
  const stored_blocks blocks = list_blocks();
  std::vector<found_part> found(std::max(domain::threads_for_opening<D>(), 1U));
  {
    const domain::tolerates_freed<D> looking;
    find_marks(blocks, salvage, found.front());
  }
  std::uint64_t next_ordinal = 0;
  if (kept_ != nullptr && !salvage && can_reopen(blocks)) {
    next_ordinal = reopen(blocks, found.front());
  } else {
    if (kept_ != nullptr) begin_index();
    next_ordinal = recover(blocks, salvage, found);
  }
  // Segments of this life have other salts, durably before the first of them exists.
  const std::uint64_t life = D::load(header_->life, relaxed) + 1;
  D::store(header_->life, life, relaxed);
  domain::note_store<D>();
  domain::persist<D>(&header_->life, sizeof header_->life);
  segments_.number_from(life, next_ordinal);
  if constexpr (is_grouped) {
    begin_marks();
    end_left();
  }
  found_.reset();
  // (P11) after the life: until here the index is that of the life before.
  if (kept_ != nullptr) kept_->confirm(life, header_->origin);
  // The records have no pointers.
  if (this->root().pointers_base != this->pool().base()) {
    this->pool().root_relocated(this->root().index);
  }
}

template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::read_header(const named_order& order) {
  header_ = this->template object<store_header>();
  if (header_->version > store_header::known_version) {
    throw error(errc::newer_version, this->pool().path(),
                "the store has version " + std::to_string(header_->version) +
                    " of records; this program supports version " +
                    std::to_string(store_header::known_version) + "; use a newer Outlast");
  }
  const std::size_t room =
      this->pool().pages().block_bytes(header_, this->root().index) - sizeof(store_header);
  if (header_->version == 0 || header_->name_bytes > room ||
      header_->check != header_->right_check()) {
    report_damage("has a damaged header");
  }
  order_name_.assign(header_->text(), header_->name_bytes);
  if (order_name_ == order.name) return;
  if (order.any_name) {
    lacks_order_ = order_name_ != name_of_byte_order;
    return;
  }
  throw error(errc::bad_argument, this->pool().path(),
              "the store's comparator is '" + order_name_ + "', not '" + order.name +
                  "'; open the store with the comparator of its creation");
}

template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::report_damage(const std::string& what) const {
  auto& self = const_cast<record_store&>(*this);
  throw corruption(self.pool().path(), "the store of records in root " +
                                           std::to_string(this->root().index) + " " + what +
                                           "; repair the store or restore a backup");
}

/// Throws corruption, or with `salvage` notes the damage.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::note_damage(const std::string& what, bool salvage,
                                         found_part& to) const {
  if (!salvage) report_damage(what);
  if (to.damage.empty()) to.damage = what;
}

/// A record that counts, if it is the newest of its key.
template <domain::persistence_domain D, class Shape>
struct record_store<D, Shape>::found_record {
  std::uint64_t head;  ///< of the key, after the bytes that all keys have in common
  std::uint64_t place;
};

/// How a segment is scanned.
template <domain::persistence_domain D, class Shape>
struct record_store<D, Shape>::scanned {
  std::uint64_t end = 0;
  bool is_open = false;     ///< its records can end before `end`
  bool is_durable = false;  ///< except for the last write of an open one
};

/// The findings of one thread.
template <domain::persistence_domain D, class Shape>
struct record_store<D, Shape>::found_part {
  std::vector<found_record> records;
  std::vector<std::pair<segment<D>*, std::uint64_t>> open;  ///< with their ends
  std::vector<std::uint64_t> batch;
  std::string common;  ///< the first bytes of all keys
  std::uint64_t last_version = 0;
  std::uint64_t last_ordinal = 0;
  std::string damage;  ///< the first one
};

/// Lists the blocks of the root, except the header.
template <domain::persistence_domain D, class Shape>
auto record_store<D, Shape>::list_blocks() -> stored_blocks {
  stored_blocks blocks;
  this->arena().for_each_stored_block([&](void* block, std::size_t stride) {
    if (block != header_) blocks.emplace_back(static_cast<std::byte*>(block), stride);
  });
  return blocks;
}

/// Finds all records and builds the index. `found`: one for each thread. Returns the ordinal of the
/// next segment.
template <domain::persistence_domain D, class Shape>
std::uint64_t record_store<D, Shape>::recover(const stored_blocks& blocks, bool salvage,
                                              std::vector<found_part>& found) {
  const bool is_alone = pool_detail::test_hooks().stores_have_no_threads;
  const unsigned threads = is_alone ? 1 : domain::threads_for_opening<D>();
  const bool persists = D::flushes() && this->pool().pages().blocks_may_be_unflushed();
  std::atomic<std::size_t> next{0};
  base::in_parallel(threads, [&](unsigned worker) {
    // The blocks are searched for segments before it is known which are in use.
    const domain::tolerates_freed<D> looking;
    for (std::size_t i; (i = next.fetch_add(1, relaxed)) < blocks.size();) {
      const auto [block, stride] = blocks[i];
      if (persists) domain::flush<D>(block, sizeof(segment_header));
      scan(block, stride, salvage, found[worker]);
    }
    seal_found(found[worker]);
  });
  free_blocks_without_use(threads);
  build(found);
  for (const found_part& each : found) {
    if (damage_.empty() && !each.damage.empty()) damage_ = "the store of records " + each.damage;
  }
  return last_ordinal_of(found) + 1;
}
/// Seals the open segments that were found. Durable at return.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::seal_found(const found_part& found) {
  // (P8) what was found in an open segment is durable before the segment is sealed.
  domain::fence<D>();
  for (const auto& [open, end] : found.open) segments_.store_sealed(*open, end);
  domain::fence<D>();
}
/// Frees the blocks that are neither the header nor segments nor marks.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::free_blocks_without_use(unsigned threads) {
  if constexpr (!is_grouped) remove_marks();
  this->arena().recover_by_scan(
      [&](void* block, std::size_t, std::uint64_t) {
        const bool is_mark =
            is_grouped && (block == found_->blocks[0] || block == found_->blocks[1]);
        return is_mark || block == header_ ||
               segments_.find(this->pool().pages().offset_of(block) + sizeof(segment_header)) !=
                   nullptr;
      },
      threads, true);
}
template <domain::persistence_domain D, class Shape>
std::uint64_t record_store<D, Shape>::last_ordinal_of(const std::vector<found_part>& found) {
  std::uint64_t last = 0;
  for (const found_part& each : found) last = std::max(last, each.last_ordinal);
  return last;
}

/// Enters the segment in a block, if there is one that counts. Otherwise returns nullptr. Sets
/// `how` to what remains to do.
template <domain::persistence_domain D, class Shape>
segment<D>* record_store<D, Shape>::adopt_found(std::byte* block, std::size_t stride, bool salvage,
                                                found_part& to, scanned& how) {
  using fate = typename found_marks::fate;
  auto& header = *reinterpret_cast<segment_header*>(block);
  const auto& mark = *reinterpret_cast<const mark_header*>(block);
  if (stride < sizeof header || mark.is_mark() || mark.is_removed(stride, segments_.secret())) {
    return nullptr;
  }
  // The segment has ended, or a crash has interrupted its making.
  if (header.is_absent()) return nullptr;
  const std::uint64_t offset = this->pool().pages().offset_of(block);
  const auto state = parse_state(D::load(header.state, relaxed), header.salt);
  if (!header.is_intact(segments_.secret()) || !state || header.bytes > stride ||
      state->end > header.bytes) {
    note_damage("has a damaged segment at offset " + std::to_string(offset), salvage, to);
    return nullptr;
  }
  const bool is_open = state->state == segment_state::open;
  const fate by_marks = found_->fate_of(header.ordinal, is_open);
  to.last_ordinal = std::max(to.last_ordinal, header.ordinal);
  if (by_marks == fate::goes) {
    D::store(header.check, 0, std::memory_order_release);
    domain::flush<D>(&header, sizeof header);
    return nullptr;
  }
  const bool ends_at_mark = by_marks == fate::ends_at_mark;
  how = {ends_at_mark ? found_->ends.at(header.ordinal)
         : is_open    ? header.bytes
                      : state->end,
         is_open && !ends_at_mark, by_marks == fate::stays};
  if (how.end > header.bytes) {
    note_damage("has a damaged mark", salvage, to);
    return nullptr;
  }
  return &segments_.adopt(block, how.end);
}

/// Finds the records of a segment, if the block is one. `from`: the bytes before it are known, and
/// only a write that a kill has interrupted can be after them.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::scan(std::byte* block, std::size_t stride, bool salvage,
                                  found_part& to, std::size_t from) {
  scanned how;
  segment<D>* const adopted = adopt_found(block, stride, salvage, to, how);
  if (adopted == nullptr) return;
  segment<D>& in = *adopted;
  const segment_header& header = in.header();
  const std::uint64_t offset = in.offset;
  const auto [end, is_open, is_durable] = how;
  const bool is_whole = from == sizeof header;
  const auto is_interrupted = [&](std::size_t here) {
    return is_open && (!is_whole || !has_record_after(block, here, end));
  };
  std::size_t at = from;
  std::size_t last = at;
  std::uint64_t dead = 0;
  std::size_t parts = 0;
  while (at < end) {
    const record_state found = state_of_record(block + at, end - at, header.salt);
    if (found != record_state::intact && is_interrupted(at)) break;
    if (found == record_state::damaged) {
      note_damage("has a damaged record at offset " + std::to_string(offset + at), salvage, to);
      at += record_align;
      dead += record_align;
      continue;
    }
    const auto& record = *reinterpret_cast<const record_header*>(block + at);
    const std::size_t began = at;
    to.batch.clear();
    if (record.kind() == record_kind::batch) {
      std::size_t next = scan_batch(block, at, end, header.salt, record_state::intact, to.batch);
      if (next == 0) {
        if (is_interrupted(at)) break;
        next = scan_batch(block, at, end, header.salt, record_state::damaged_value, to.batch);
      }
      if (next == 0) {
        note_damage("has a damaged batch at offset " + std::to_string(offset + at), salvage, to);
      }
      to.last_version = std::max(to.last_version, record.version);
      dead += batch_head_bytes;
      at = next == 0 ? at + batch_head_bytes : next;
    } else {
      if (record.kind() == record_kind::space || record.is_entry()) {
        dead += bytes_of(record);
      } else {
        to.batch.push_back(at);
      }
      at += bytes_of(record);
    }
    last = began;
    ++parts;
    for (const std::uint64_t each : to.batch) note_found(block, each, offset, to);
  }
  in.dead_bytes.store(is_whole ? dead : in.dead_bytes.load(relaxed) + dead, relaxed);
  if (is_whole && parts == 1) note_only(in, at);
  if (!is_open && is_durable) return;
  in.end.store(at, relaxed);
  to.open.emplace_back(&in, at);
  if (!is_durable) return domain::flush<D>(block, at);
  // The writes before the last one have waited for their fences. The bytes of the last one, or of
  // the last copies of the cleaner, may have been streamed by a thread that was killed, and a flush
  // has no effect on these.
  if (at == from) return;
  const std::size_t copies = std::min(at - from, Shape::max_copied_record);
  const std::size_t first = std::min(last, at - copies);
  const std::vector<std::byte> copy(block + first, block + at);
  D::write(block + first, copy.data(), copy.size());
  domain::flush<D>(block + first, at - first);
}

/// Returns whether an intact record follows after `at`, so that what is there is damaged, and no
/// write that a crash has interrupted. Such a write is the last one: a record, a batch with its
/// entries, or copies that were written together.
template <domain::persistence_domain D, class Shape>
bool record_store<D, Shape>::has_record_after(const std::byte* block, std::size_t at,
                                              std::size_t end) {
  const std::uint64_t salt = reinterpret_cast<const segment_header*>(block)->salt;
  at += has_copies(salt) ? Shape::max_copied_record : record_align;
  for (; at + sizeof(record_header) <= end; at += record_align) {
    const auto& record = *reinterpret_cast<const record_header*>(block + at);
    if (record.check == 0 && record.length_kind == 0) continue;
    if (record.kind() == record_kind::space) continue;
    if (record.kind() != record_kind::batch && record.is_entry()) continue;
    if (state_of_record(block + at, end - at, salt) == record_state::intact) return true;
  }
  return false;
}

/// Notes that a segment was made for its only record or batch. A segment of usual size that a crash
/// has ended early is none of these, so that cleaning returns its rest.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::note_only(segment<D>& in, std::size_t end) {
  const auto& record = *reinterpret_cast<const record_header*>(in.begin + sizeof(segment_header));
  const std::size_t needed = segment_space<D, Shape>::needed_for(end - sizeof(segment_header));
  in.is_dedicated = needed == in.bytes && end > in.bytes / 2;
  if (in.is_dedicated && record.kind() == record_kind::put) {
    in.only_key.store(hash_of_only(record.key()), relaxed);
  }
}

/// Adds a record of a segment to the findings.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::note_found(const std::byte* block, std::uint64_t at,
                                        std::uint64_t offset, found_part& to) {
  constexpr std::size_t max_common = 256;
  const auto& record = *reinterpret_cast<const record_header*>(block + at);
  if (to.records.empty()) to.common.assign(record.key().substr(0, max_common));
  to.common.resize(common_bytes(to.common, record.key(), to.common.size()));
  to.last_version = std::max(to.last_version, record.version);
  to.records.push_back({0, offset + at});
}

/// Returns the end of the batch at `at`, and the places of its entries. Returns 0 if an entry is
/// missing, or its state is worse than `least`.
template <domain::persistence_domain D, class Shape>
std::size_t record_store<D, Shape>::scan_batch(const std::byte* begin, std::size_t at,
                                               std::size_t end, std::uint64_t salt,
                                               record_state least,
                                               std::vector<std::uint64_t>& entries) {
  const auto& head = *reinterpret_cast<const record_header*>(begin + at);
  std::uint32_t checks = 0;
  at += batch_head_bytes;
  for (std::uint32_t i = 0; i < head.age_or_entries; ++i) {
    const auto& entry = *reinterpret_cast<const record_header*>(begin + at);
    const bool is_entry =
        state_of_record(begin + at, end - at, salt) >= least &&
        (entry.kind() == record_kind::put || entry.kind() == record_kind::tombstone) &&
        entry.is_entry() && entry.version == head.version;
    if (!is_entry) {
      entries.clear();
      return 0;
    }
    checks = hash_of_checks(checks, entry);
    entries.push_back(at);
    at += bytes_of(entry);
  }
  if (checks == head.value_bytes) return at;
  entries.clear();
  return 0;
}

/// Builds the index of the newest record of each key. The records are divided by their keys among
/// the threads.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::build(std::vector<found_part>& found) {
  std::string_view common;
  std::uint64_t last_version = 0;
  std::vector<std::uint64_t> sample;
  bool is_first = true;
  for (const found_part& each : found) {
    last_version = std::max(last_version, each.last_version);
    if (each.records.empty()) continue;
    common = is_first ? std::string_view(each.common)
                      : common.substr(0, common_bytes(common, each.common, common.size()));
    is_first = false;
  }
  // (P9) moments of this life are after those of all records.
  moments_.start_at(std::max<std::uint64_t>(records::moment_of(last_version) + 2, 2));
  const auto parts = static_cast<unsigned>(found.size());
  const bool by_bytes = order().is_by_bytes();
  base::in_parallel(parts, [&](unsigned t) {
    if (!by_bytes) return;
    for (found_record& each : found[t].records) {
      each.head = head_of<std::uint64_t>(record_at(each.place).key(), common.size());
    }
  });
  for (const found_part& each : found) {
    const std::size_t step = 1 + each.records.size() / 1024;
    for (std::size_t i = 0; i < each.records.size(); i += step) {
      sample.push_back(each.records[i].head);
    }
  }
  std::sort(sample.begin(), sample.end());
  std::vector<std::uint64_t> bounds;
  for (unsigned p = 1; p < parts && !sample.empty(); ++p) {
    bounds.push_back(sample[p * sample.size() / parts]);
  }
  std::vector<std::vector<typename index_type::built_page>> leaves(parts);
  std::vector<std::int64_t> puts(parts);
  std::vector<std::int64_t> tombstones(parts);
  try {
    base::in_parallel(parts, [&](unsigned p) {
      build_part(found, bounds, p, leaves[p], puts[p], tombstones[p]);
    });
    index_.build(leaves);
  } catch (...) {
    for (auto& each : leaves) index_.destroy_built(each);
    throw;
  }
  const std::int64_t all_puts = std::accumulate(puts.begin(), puts.end(), std::int64_t{0});
  const std::int64_t all_tombstones =
      std::accumulate(tombstones.begin(), tombstones.end(), std::int64_t{0});
  if (kept_ != nullptr) {
    kept_->count_from(all_puts, all_tombstones);
    kept_->set_first_version(last_version);
  } else {
    keys_.start_at(all_puts);
    tombstones_.start_at(all_tombstones);
  }
}

/// Returns whether the opening has found the segment of a record open.
template <domain::persistence_domain D, class Shape>
bool record_store<D, Shape>::was_open(const std::vector<found_part>& found,
                                      std::uint64_t record) const {
  const segment<D>* const in = &segments_.of_record(record);
  return std::any_of(found.begin(), found.end(), [in](const found_part& part) {
    return std::any_of(part.open.begin(), part.open.end(),
                       [in](const auto& each) { return each.first == in; });
  });
}
/// Makes the leaves of one part of the keys.
template <domain::persistence_domain D, class Shape>
void record_store<D, Shape>::build_part(const std::vector<found_part>& found,
                                        const std::vector<std::uint64_t>& bounds, unsigned part,
                                        std::vector<typename index_type::built_page>& leaves,
                                        std::int64_t& puts, std::int64_t& tombstones) {
  std::vector<found_record> mine;
  for (const found_part& from : found) {
    for (const found_record& each : from.records) {
      const auto of = std::upper_bound(bounds.begin(), bounds.end(), each.head) - bounds.begin();
      if (static_cast<unsigned>(of) == part) mine.push_back(each);
    }
  }
  const auto order_of = [&](const found_record& a, const found_record& b) {
    if (a.head != b.head) return a.head < b.head ? -1 : 1;
    return index_.compare(record_at(a.place).key(), record_at(b.place).key());
  };
  std::sort(mine.begin(), mine.end(), [&](const found_record& a, const found_record& b) {
    const int keys = order_of(a, b);
    if (keys != 0) return keys < 0;
    const std::uint64_t version = record_at(a.place).version;
    if (version != record_at(b.place).version) return version > record_at(b.place).version;
    // Copies that a crash has interrupted do not count, so that their segment is free: in a full
    // pool it is the only one.
    return !was_open(found, a.place) && was_open(found, b.place);
  });
  std::size_t kept = 0;
  for (const found_record& each : mine) {
    if (kept != 0 && order_of(mine[kept - 1], each) == 0) {
      count_dead(each.place);
      continue;
    }
    ++(is_put(each.place) ? puts : tombstones);
    mine[kept++] = each;
  }
  mine.resize(kept);
  index_.make_leaves(kept, [&](std::size_t i) { return mine[i].place; }, leaves);
}

}  // namespace outlast::store_detail::records
