#include <outlast/db/checkpoint.hpp>
#include <outlast/db/db.hpp>
#include <outlast/db/env.hpp>
#include <outlast/db/write_batch.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/tx/heap.hpp>
#include <tests/fuzz/corrupted_store.hpp>
#include <tests/fuzz/good_store.hpp>
#include <tests/fuzz/record_spots.hpp>
#include <tests/support/memory_folder.hpp>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <utility>

namespace outlast::fuzz {
namespace {

constexpr std::size_t replica_bytes = std::size_t{1} << 20;
constexpr std::size_t record_bytes = std::size_t{64} << 20;
constexpr std::size_t max_edits = 32;

void require(bool kept, const std::string& promise) {
  if (!kept) throw broken_promise(promise);
}
using pairs = std::set<std::pair<std::string, std::string>>;

// ---- what stores hold ----

constexpr int keys = 150;

std::string key_of(int i) {
  return "key " + std::to_string(1000 + i) + std::string(i % 5 * 7, '.');
}
std::string value_of(int i, int version) {
  const std::size_t more = i % 7 == 0 ? 400 : i % 31 == 0 ? 9000 : static_cast<std::size_t>(i % 30);
  return std::to_string(version) + " value of " + key_of(i) + std::string(more, 'v');
}
/// The entries that are written to a corrupted store, including blocks of several pages.
std::string large_value_of(int i) {
  constexpr std::array<std::size_t, 4> sizes = {600, 5'000, 20'000, 70'000};
  return value_of(i, 9) + std::string(sizes.at(static_cast<std::size_t>(i) % sizes.size()), 'l');
}

/// All that was ever in a store, and what is in it.
struct contents {
  pairs ever;
  pairs now;
};
const contents& expected() {
  static const contents made = [] {
    contents all;
    for (int i = 0; i < 2 * keys; ++i) {
      for (const int version : {0, 1, 9}) all.ever.emplace(key_of(i), value_of(i, version));
      all.ever.emplace(key_of(i), large_value_of(i));
      if (i < keys) all.now.emplace(key_of(i), value_of(i, 1));
    }
    return all;
  }();
  return made;
}

class silent_logger final : public db::Logger {
 public:
  void Logv(const char* /*format*/, std::va_list /*arguments*/) override {}
};

// ---- good stores ----

/// The directory in which stores are made and corrupted.
class workshop {
 public:
  static workshop& instance() {
    static workshop only;
    return only;
  }

  [[nodiscard]] fs::path store() const { return folder_.path() / "store"; }
  [[nodiscard]] fs::path copy() const { return folder_.path() / "copy"; }
  [[nodiscard]] const good_store& good(std::size_t i) const { return good_.at(i); }
  [[nodiscard]] std::unique_ptr<db::DB> open(db::Status& status, bool checked,
                                             bool creates = false) {
    db::Options options = this->options();
    options.create_if_missing = creates;
    options.paranoid_checks = checked;
    db::StoreOptions more;
    more.engine = has_records_ ? db::StoreEngine::kRecords : db::StoreEngine::kReplicas;
    more.capacity_bytes = has_records_ ? record_bytes : replica_bytes;
    more.replicas = 2;
    db::DB* opened = nullptr;
    status = db::DB::Open(options, more, store().string(), &opened);
    return std::unique_ptr<db::DB>(opened);
  }
  [[nodiscard]] db::Options options() {
    db::Options made;
    made.info_log = &logger_;
    return made;
  }
  void clear() const {
    fs::remove_all(store());
    fs::remove_all(copy());
    fs::create_directory(store());
  }
  void put_back(const good_store& good) {
    clear();
    for (const kept_file& each : good.files) each.write(store());
    has_records_ = good.has_records;
    pool_detail::hooks& hooks = pool_detail::test_hooks();
    hooks.everything_is_a_disk = good.on_disk;
    hooks.boot.reset();
    if (good.has_crashed) hooks.boot = pool_format::boot_id{9};
  }

 private:
  workshop() {
    for (const bool has_records : {false, true}) {
      for (const bool on_disk : {false, true}) {
        for (const bool is_closed : {true, false}) {
          good_.push_back(make(has_records, on_disk, is_closed));
        }
      }
    }
    good_.push_back(good_.back());
    good_.back().has_crashed = true;
  }
  good_store make(bool has_records, bool on_disk, bool is_closed);
  void keep_files(good_store& in) const;

  test::scratch_folder folder_;
  silent_logger logger_;
  bool has_records_ = false;  ///< the store that is used
  std::vector<good_store> good_;
};

void must(const db::Status& status) { require(status.ok(), status.ToString()); }

/// Several pages of a tree, blocks that were given back, and what snapshots have kept.
void fill(db::DB& store) {
  for (int i = 0; i < 2 * keys; ++i) must(store.Put({}, key_of(i), value_of(i, 0)));
  const db::Snapshot* const then = store.GetSnapshot();
  for (int i = 0; i < keys; ++i) must(store.Put({}, key_of(i), value_of(i, 1)));
  const db::Snapshot* const later = store.GetSnapshot();
  for (int i = keys; i < 2 * keys; ++i) must(store.Delete({}, key_of(i)));
  store.ReleaseSnapshot(then);
  store.ReleaseSnapshot(later);  // what they kept is given back by the next one who writes
}

/// Batches, copies of the cleaner, tombstones, and segments that end.
void fill_more(db::DB& store) {
  store.CompactRange(nullptr, nullptr);
  for (int first = 0; first < keys; first += 10) {
    db::WriteBatch several;
    for (int i = first; i < first + 4; ++i) several.Put(key_of(i), value_of(i, 1));
    several.Delete(key_of(keys + first));
    must(store.Write({}, &several));
  }
  for (int i = keys; i < keys + 10; ++i) must(store.Put({}, key_of(i), value_of(i, 0)));
  for (int i = keys; i < keys + 10; ++i) must(store.Delete({}, key_of(i)));
}

/// Bytes as they lie in a replica, looked at without a transaction.
struct alignas(64) replica_image {
  std::array<char, replica_bytes> bytes{};

  /// `size` bytes of the file from `at` on.
  void read(const kept_file& from, off_t at, std::size_t size) {
    for (const auto& [begin, part] : from.parts) {
      const off_t end = begin + std::ssize(part);
      const off_t first = std::max(begin, at);
      const off_t last = std::min(end, at + static_cast<off_t>(size));
      if (first >= last) continue;
      std::memcpy(bytes.data() + (first - at), part.data() + (first - begin),
                  static_cast<std::size_t>(last - first));
    }
  }
};

/// The spots of the replica at `begin`, if there is a heap in it.
void note_heap(good_store& in, std::size_t file, off_t begin) {
  using tx::detail::heap_header;
  using tx::detail::page_kind;
  using tx::detail::page_state;
  const auto image = std::make_unique<replica_image>();
  image->read(in.files[file], begin, sizeof(heap_header));
  const auto& header = *reinterpret_cast<const heap_header*>(image->bytes.data());
  if (header.touched == 0 || !tx::heap::damage(header, replica_bytes).empty()) return;
  image->read(in.files[file], begin, replica_bytes);
  const tx::heap::extent used = tx::heap::used(header);
  note_words(in.at(spot::heap_header), file, begin, sizeof(heap_header));
  note_words(in.at(spot::page_states), file, begin + off_t(sizeof(heap_header)),
             used.table_end - sizeof(heap_header));
  const auto* const states =
      reinterpret_cast<const page_state*>(image->bytes.data() + sizeof(heap_header));
  for (std::uint32_t page = 0; page < header.touched; ++page) {
    const page_state& state = states[page];
    const auto first =
        static_cast<off_t>(used.pages_begin + (std::size_t{page} << header.page_shift));
    if (state.kind == page_kind::large)
      note_words(in.at(spot::block_heads), file, begin + first, 64);
    if (state.kind != page_kind::slab) continue;
    constexpr std::size_t leaf_stride = 640;
    constexpr std::size_t inner_stride = 1792;
    const std::size_t stride = state.stride;
    for (std::uint32_t i = 0; i < state.touched; ++i) {
      const off_t block = begin + first + off_t(i * stride);
      note_words(in.at(spot::block_heads), file, block, std::min<std::size_t>(stride, 32));
      if (stride != leaf_stride && stride != inner_stride) continue;
      note_words(in.at(spot::tree_pages), file, block, stride);
    }
  }
}

void note_spots(good_store& in) {
  for (std::size_t file = 0; file < in.files.size(); ++file) {
    const kept_file& from = in.files[file];
    for (const auto& [begin, bytes] : from.parts) {
      for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
        if (std::memcmp(bytes.data() + i, "\0\0\0\0\0\0\0\0", 8) == 0) continue;
        const word_at here{file, begin + off_t(i)};
        in.at(spot::any).push_back(here);
        if (from.name.ends_with(".redo")) in.at(spot::log).push_back(here);
      }
    }
    if (in.has_records) continue;
    for (const auto& [begin, bytes] : from.parts) {
      const off_t end = begin + std::ssize(bytes);
      constexpr off_t page = 4096;
      for (off_t at = (begin + page - 1) / page * page; at < end; at += page)
        note_heap(in, file, at);
    }
  }
  if (in.has_records) note_record_spots(in);
  for (auto& each : in.spots) {
    if (each.empty()) each = in.at(spot::any);
  }
}

good_store workshop::make(bool has_records, bool on_disk, bool is_closed) {
  good_store made{};
  made.has_records = has_records;
  made.on_disk = on_disk;
  has_records_ = has_records;
  clear();
  pool_detail::test_hooks().everything_is_a_disk = on_disk;
  db::Status status;
  std::unique_ptr<db::DB> store = open(status, false, true);
  must(status);
  fill(*store);
  if (has_records) fill_more(*store);
  store.reset();
  if (!is_closed) {
    // The first incarnation's data is in the pool, the second one's also in its commit log.
    store = open(status, false);
    must(status);
    const db::Snapshot* const then = store->GetSnapshot();
    for (int i = 0; i < keys; i += 4) must(store->Put({}, key_of(i), value_of(i, 1)));
    for (int i = keys; i < keys + 40; ++i) must(store->Put({}, key_of(i), value_of(i, 9)));
    for (int i = keys; i < keys + 40; ++i) must(store->Delete({}, key_of(i)));
    db::WriteOptions synced;
    synced.sync = true;
    must(store->Write(synced, nullptr));
    keep_files(made);
    store->ReleaseSnapshot(then);
  } else {
    keep_files(made);
  }
  note_spots(made);
  return made;
}

/// As a kill would leave them now, if a store has them open.
void workshop::keep_files(good_store& in) const {
  for (const auto& each : fs::directory_iterator(store())) {
    if (each.path().filename() != "LOCK") in.files.emplace_back(each.path());
  }
}

// ---- edits ----

const word_at& word_of(const good_store& good, const store_edit& edit) {
  const std::vector<word_at>& words = good.spots.at(static_cast<std::size_t>(edit.where));
  return words.at(edit.index % words.size());
}
void apply(const good_store& good, const store_edit& edit) {
  const std::vector<word_at>& words = good.spots.at(static_cast<std::size_t>(edit.where));
  const auto read = [&](const word_at& at) {
    std::uint64_t word = 0;
    const fs::path path = workshop::instance().store() / good.files.at(at.file).name;
    file_of_store(path, O_RDONLY | O_CLOEXEC).read(&word, sizeof word, at.offset);
    return word;
  };
  const word_at& at = word_of(good, edit);
  std::uint64_t word = read(at);
  constexpr std::uint64_t half = 0xffff'ffff;
  switch (edit.how) {
    case word_change::set: word = edit.value; break;
    case word_change::flip: word ^= edit.value; break;
    case word_change::add: word += edit.value; break;
    case word_change::low: word = (word & ~half) | (edit.value & half); break;
    case word_change::high: word = (word & half) | edit.value << 32; break;
    default: word = read(words.at(edit.value % words.size())); break;
  }
  const fs::path path = workshop::instance().store() / good.files.at(at.file).name;
  const file_of_store file(path, O_RDWR | O_CLOEXEC);
  file.write(&word, sizeof word, at.offset);
  if (edit.is_checked && at.part != word_at::no_part) write_checks(good, at.part, file);
}

// ---- what a store must bear ----

/// Damage, or what damage looks like where it is the space or the name of the order.
bool is_refusal(const db::Status& status) {
  return status.IsCorruption() || status.IsNotSupportedError() || status.IsInvalidArgument() ||
         status.IsIOError();
}
/// Of an open store: it says so, and names the file.
bool is_damage(const db::Status& status) {
  if (status.IsCorruption()) return status.ToString().find("store.pool") != std::string::npos;
  return status.IsIOError() && status.ToString().find("no space") != std::string::npos;
}

/// Uses a store that may be damaged.
class user {
 public:
  user(db::DB& store, store_outcome& so_far) : store_(store), so_far_(so_far) {}

  void use() {
    so_far_.read = so_far_.written = true;
    read();
    iterate(nullptr);
    const db::Snapshot* const then = store_.GetSnapshot();
    write();
    iterate(then);
    store_.ReleaseSnapshot(then);
    read();
    write();
    iterate(nullptr);
    store_.CompactRange(nullptr, nullptr);
    const std::string first = key_of(0);
    const std::string last = key_of(keys);
    const db::Range all(first, last);
    std::uint64_t bytes = 0;
    store_.GetApproximateSizes(&all, 1, &bytes);
  }
  void copy() {
    const db::Status copied = db::Checkpoint(&store_, workshop::instance().copy().string());
    require(copied.ok() || is_refusal(copied), "a copy is made, or not: " + copied.ToString());
  }

 private:
  static void require_known(std::string key, std::string value) {
    require(expected().ever.contains({std::move(key), std::move(value)}),
            "what is read was written at some time");
  }
  void read() {
    db::ReadOptions verified;
    verified.verify_checksums = true;
    for (int i = 0; i < 2 * keys; i += 3) {
      std::string value;
      const db::Status status = store_.Get(verified, key_of(i), &value);
      require(status.ok() || status.IsNotFound() || status.IsCorruption(),
              "a value is found or not, or damaged: " + status.ToString());
      if (status.ok()) require_known(key_of(i), value);
      if (status.IsCorruption()) so_far_.read = false;
    }
  }
  void iterate(const db::Snapshot* of) {
    db::ReadOptions verified;
    verified.verify_checksums = true;
    verified.snapshot = of;
    const std::unique_ptr<db::Iterator> at(store_.NewIterator(verified));
    const auto walk = [&](auto&& step) {
      std::size_t steps = 0;
      for (; at->Valid(); step()) {
        require_known(at->key().ToString(), at->value().ToString());
        require(++steps < 100'000, "an iterator comes to an end");
      }
      require(at->status().ok() || at->status().IsCorruption() || is_damage(at->status()),
              "an iterator ends at damage: " + at->status().ToString());
      if (!at->status().ok()) so_far_.read = false;
    };
    at->SeekToFirst();
    walk([&] { at->Next(); });
    at->SeekToLast();
    walk([&] { at->Prev(); });
    at->Seek(key_of(keys / 2));
    if (at->Valid()) at->Next();
    if (at->Valid()) at->Prev();
  }
  void note(const db::Status& status) {
    require(status.ok() || is_damage(status),
            "what is written is taken, or refused as damage: " + status.ToString());
    if (!status.ok()) so_far_.written = false;
  }
  void write() {
    for (int i = 1; i < 2 * keys; i += 5) note(store_.Put({}, key_of(i), value_of(i, 9)));
    for (int i = 0; i < 2 * keys; i += 9) note(store_.Delete({}, key_of(i)));
    for (int i = 0; i < keys; i += 11) note(store_.Put({}, key_of(i), large_value_of(i)));
    db::WriteBatch several;
    several.DeleteRange(key_of(keys / 2), key_of(keys / 2 + 20));
    for (int i = 2; i < keys; i += 7) several.Put(key_of(i), value_of(i, 1));
    note(store_.Write({}, &several));
    for (int i = 0; i < keys; i += 11) note(store_.Delete({}, key_of(i)));
  }

  db::DB& store_;
  store_outcome& so_far_;
};

pairs content_of(db::DB& store) {
  pairs found;
  const std::unique_ptr<db::Iterator> at(store.NewIterator({}));
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    found.emplace(at->key().ToString(), at->value().ToString());
  }
  require(at->status().ok(), "a repaired store can be read: " + at->status().ToString());
  return found;
}

/// Requires that a repair has kept all keys whose newest records were not changed by edits.
void require_intact_records(const good_store& good, const std::vector<store_edit>& edits,
                            const pairs& kept) {
  const auto is_changed = [&](const newest_record& one) {
    return std::any_of(edits.begin(), edits.end(), [&](const store_edit& each) {
      const off_t at = word_of(good, each).offset;
      return at >= one.begin && at < one.end;
    });
  };
  for (const auto& [key, newest] : good.newest) {
    if (is_changed(newest)) continue;
    const auto found = kept.lower_bound({key, ""});
    const bool is_there = found != kept.end() && found->first == key;
    require(is_there == newest.value.has_value(), "a repair keeps intact records: " + key);
    if (is_there) require(found->second == *newest.value, "a repair keeps values: " + key);
  }
}
/// Returns whether edits change only records, so that their checks do not match.
bool damages_only_records(const std::vector<store_edit>& edits) {
  return std::all_of(edits.begin(), edits.end(), [](const store_edit& each) {
    return !each.is_checked &&
           (each.where == spot::record_heads || each.where == spot::record_bytes);
  });
}

/// It is as good as a new one. `was_used`: after the edits, before the repair.
void use_repaired(const good_store& good, const store_recipe& input, bool was_used) {
  db::Status status;
  const std::unique_ptr<db::DB> store = workshop::instance().open(status, true);
  require(store != nullptr, "a repaired store opens: " + status.ToString());
  const pairs& ever = expected().ever;
  const pairs kept = content_of(*store);
  require(std::includes(ever.begin(), ever.end(), kept.begin(), kept.end()),
          "what a repair has kept was written at some time");
  if (!was_used && damages_only_records(input.edits)) {
    require_intact_records(good, input.edits, kept);
  }
  for (int i = 0; i < 2 * keys; ++i) {
    status = i < keys ? store->Put({}, key_of(i), value_of(i, 1)) : store->Delete({}, key_of(i));
    require(status.ok(), "a repaired store can be written: " + status.ToString());
  }
  require(content_of(*store) == expected().now, "a repaired store holds what was put into it");
}

}  // namespace

std::span<const std::string_view> good_stores() {
  static constexpr std::array<std::string_view, 9> names = {
      "memory_closed",   "memory_killed",          "disk_closed",
      "disk_killed",     "records_in_memory",      "records_in_memory_killed",
      "records_on_disk", "records_on_disk_killed", "records_on_disk_crashed"};
  return names;
}

namespace {

constexpr std::size_t first_of_records = 4;

/// Inputs from before stores of records keep their meaning.
std::size_t good_named_by(unsigned number) {
  if (number < 16) return number % 2;
  if (number < 24) return first_of_records + number % 2;
  if (number < 30) return first_of_records + 2 + number % 3;
  return number - 28;
}
spot spot_named_by(std::size_t good, std::uint64_t number) {
  constexpr auto of_replicas = static_cast<unsigned>(spot::segment_headers);
  constexpr auto of_all = static_cast<unsigned>(spot::count);
  if (good < first_of_records) return static_cast<spot>(number % of_replicas);
  const std::uint64_t which = number % (1 + of_all - of_replicas);
  return which == 0 ? spot::any : static_cast<spot>(of_replicas - 1 + which);
}

}  // namespace

store_recipe decode_store(std::span<const std::uint8_t> bytes) {
  store_recipe made;
  if (bytes.empty()) return made;
  made.good = good_named_by(bytes[0] & 0x1f);
  made.checked = (bytes[0] & 0x80) != 0;
  made.copied = (bytes[0] & 0x40) != 0;
  made.repaired = (bytes[0] & 0x20) == 0;
  constexpr std::size_t edit_bytes = 12;
  for (bytes = bytes.subspan(1); bytes.size() >= edit_bytes && made.edits.size() < max_edits;
       bytes = bytes.subspan(edit_bytes)) {
    store_edit edit{};
    edit.where = spot_named_by(made.good, bytes[0]);
    const bool has_records = made.good >= first_of_records;
    edit.is_checked = has_records && bytes[1] >= 0x80;
    const unsigned how = has_records ? bytes[1] & 0x7f : bytes[1];
    edit.how = static_cast<word_change>(how % static_cast<unsigned>(word_change::count));
    std::memcpy(&edit.index, &bytes[2], sizeof edit.index);
    std::memcpy(&edit.value, &bytes[4], sizeof edit.value);
    made.edits.push_back(edit);
  }
  return made;
}

store_recipe random_recipe(std::size_t good, std::uint64_t seed) {
  std::mt19937_64 random(seed * good_stores().size() + good);
  store_recipe made;
  made.good = good;
  made.checked = random() % 4 == 0;
  made.copied = random() % 4 == 0;
  made.repaired = random() % 2 == 0;
  for (std::uint64_t left = 1 + random() % 6; left > 0; --left) {
    store_edit edit{};
    edit.where = spot_named_by(good, random());
    edit.is_checked = good >= first_of_records && random() % 2 == 0;
    edit.how = static_cast<word_change>(random() % static_cast<unsigned>(word_change::count));
    edit.index = static_cast<std::uint16_t>(random());
    switch (random() % 6) {
      case 0: edit.value = random(); break;
      case 1: edit.value = ~std::uint64_t{0} >> random() % 64; break;
      case 2: edit.value = std::uint64_t{1} << random() % 64; break;
      case 3: edit.value = random() % 64 * 8 - 256; break;
      case 4: edit.value = random() % 4096 * 16; break;
      default: edit.value = random() % 80; break;
    }
    made.edits.push_back(edit);
  }
  return made;
}

store_outcome exercise(const store_recipe& input) {
  workshop& in = workshop::instance();
  const good_store& good = in.good(input.good);
  in.put_back(good);
  for (const store_edit& each : input.edits) apply(good, each);
  store_outcome reached;
  db::Status status;
  if (const std::unique_ptr<db::DB> store = in.open(status, input.checked)) {
    reached.opened = true;
    user at(*store, reached);
    at.use();
    if (input.copied) at.copy();
  } else {
    require(is_refusal(status), "a store opens or is refused: " + status.ToString());
  }
  if (!input.repaired) return reached;
  status = db::RepairDB(in.store().string(), in.options());
  require(status.ok() || is_refusal(status), "a store is repaired or not: " + status.ToString());
  reached.repaired = status.ok();
  if (reached.repaired) use_repaired(good, input, reached.opened);
  return reached;
}

}  // namespace outlast::fuzz
