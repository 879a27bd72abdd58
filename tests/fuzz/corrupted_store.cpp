#include <outlast/db/checkpoint.hpp>
#include <outlast/db/db.hpp>
#include <outlast/db/env.hpp>
#include <outlast/db/write_batch.hpp>
#include <outlast/pool/file/file_identity.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/tx/heap.hpp>
#include <tests/fuzz/corrupted_store.hpp>
#include <tests/support/memory_folder.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace outlast::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t replica_bytes = std::size_t{1} << 20;
constexpr std::size_t max_edits = 32;

void require(bool kept, const std::string& promise) {
  if (!kept) throw broken_promise(promise);
}
void require_file(bool done) {
  if (!done) throw std::system_error(errno, std::generic_category(), "a file of a store");
}

class file_of_store {
 public:
  file_of_store(const fs::path& path, int flags) : file_(::open(path.c_str(), flags, 0600)) {
    require_file(file_ >= 0);
  }
  ~file_of_store() { ::close(file_); }
  file_of_store(const file_of_store&) = delete;
  file_of_store& operator=(const file_of_store&) = delete;

  [[nodiscard]] off_t size() const {
    struct stat status{};
    require_file(::fstat(file_, &status) == 0);
    return status.st_size;
  }
  void resize(off_t bytes) const { require_file(::ftruncate(file_, bytes) == 0); }
  /// The next bytes that are no hole, from `at` on: where they begin and end. None: both are 0.
  [[nodiscard]] std::pair<off_t, off_t> data_from(off_t at) const {
    const off_t begin = ::lseek(file_, at, SEEK_DATA);
    if (begin < 0) return {};
    return {begin, ::lseek(file_, begin, SEEK_HOLE)};
  }
  void read(void* to, std::size_t bytes, off_t at) const {
    require_file(::pread(file_, to, bytes, at) == static_cast<ssize_t>(bytes));
  }
  void write(const void* from, std::size_t bytes, off_t at) const {
    require_file(::pwrite(file_, from, bytes, at) == static_cast<ssize_t>(bytes));
  }
  /// What a kill has left is put back as a whole, in another file.
  void adopt() const { pool_detail::adopt_copy("", file_); }

 private:
  int file_;
};

/// The bytes of a file that are no hole.
struct kept_file {
  std::string name;
  off_t size = 0;
  std::vector<std::pair<off_t, std::string>> parts;

  explicit kept_file(const fs::path& from) : name(from.filename().string()) {
    const file_of_store file(from, O_RDONLY | O_CLOEXEC);
    size = file.size();
    for (auto [begin, end] = file.data_from(0); end != 0;
         std::tie(begin, end) = file.data_from(end)) {
      std::string bytes(static_cast<std::size_t>(end - begin), '\0');
      file.read(bytes.data(), bytes.size(), begin);
      parts.emplace_back(begin, std::move(bytes));
    }
  }
  void write(const fs::path& folder) const {
    const file_of_store file(folder / name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC);
    file.resize(size);
    for (const auto& [begin, bytes] : parts) file.write(bytes.data(), bytes.size(), begin);
    file.adopt();
  }
};

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

struct word_at {
  std::size_t file;
  off_t offset;
};

struct good_store {
  bool on_disk;
  std::vector<kept_file> files;
  std::array<std::vector<word_at>, static_cast<std::size_t>(spot::count)> spots;

  [[nodiscard]] std::vector<word_at>& at(spot where) {
    return spots.at(static_cast<std::size_t>(where));
  }
};

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
    more.engine = db::StoreEngine::kReplicas;
    more.capacity_bytes = replica_bytes;
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
  void put_back(const good_store& good) const {
    clear();
    for (const kept_file& each : good.files) each.write(store());
    pool_detail::test_hooks().everything_is_a_disk = good.on_disk;
  }

 private:
  workshop() {
    for (const bool on_disk : {false, true}) {
      for (const bool is_closed : {true, false}) good_.push_back(make(on_disk, is_closed));
    }
  }
  good_store make(bool on_disk, bool is_closed);
  void keep_files(good_store& in) const;

  test::scratch_folder folder_;
  silent_logger logger_;
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

void note_words(std::vector<word_at>& to, std::size_t file, off_t begin, std::size_t bytes) {
  for (std::size_t i = 0; i + 8 <= bytes; i += 8) to.push_back({file, begin + off_t(i)});
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
    for (const auto& [begin, bytes] : from.parts) {
      const off_t end = begin + std::ssize(bytes);
      constexpr off_t page = 4096;
      for (off_t at = (begin + page - 1) / page * page; at < end; at += page)
        note_heap(in, file, at);
    }
  }
  for (auto& each : in.spots) {
    if (each.empty()) each = in.at(spot::any);
  }
}

good_store workshop::make(bool on_disk, bool is_closed) {
  good_store made{on_disk, {}, {}};
  clear();
  pool_detail::test_hooks().everything_is_a_disk = on_disk;
  db::Status status;
  std::unique_ptr<db::DB> store = open(status, false, true);
  must(status);
  fill(*store);
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

void apply(const good_store& good, const store_edit& edit) {
  const std::vector<word_at>& words = good.spots.at(static_cast<std::size_t>(edit.where));
  const auto read = [&](const word_at& at) {
    std::uint64_t word = 0;
    const fs::path path = workshop::instance().store() / good.files.at(at.file).name;
    file_of_store(path, O_RDONLY | O_CLOEXEC).read(&word, sizeof word, at.offset);
    return word;
  };
  const word_at& at = words.at(edit.index % words.size());
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
  file_of_store(path, O_RDWR | O_CLOEXEC).write(&word, sizeof word, at.offset);
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

/// It is as good as a new one.
void use_repaired() {
  db::Status status;
  const std::unique_ptr<db::DB> store = workshop::instance().open(status, true);
  require(store != nullptr, "a repaired store opens: " + status.ToString());
  const pairs& ever = expected().ever;
  const pairs kept = content_of(*store);
  require(std::includes(ever.begin(), ever.end(), kept.begin(), kept.end()),
          "what a repair has kept was written at some time");
  for (int i = 0; i < 2 * keys; ++i) {
    status = i < keys ? store->Put({}, key_of(i), value_of(i, 1)) : store->Delete({}, key_of(i));
    require(status.ok(), "a repaired store can be written: " + status.ToString());
  }
  require(content_of(*store) == expected().now, "a repaired store holds what was put into it");
}

}  // namespace

std::span<const std::string_view> good_stores() {
  static constexpr std::array<std::string_view, 4> names = {"memory_closed", "memory_killed",
                                                            "disk_closed", "disk_killed"};
  return names;
}

store_recipe decode_store(std::span<const std::uint8_t> bytes) {
  store_recipe made;
  if (bytes.empty()) return made;
  const std::uint8_t which = bytes[0] & 0x1f;
  made.good = which < 30 ? which % 2 : which - 28U;
  made.checked = (bytes[0] & 0x80) != 0;
  made.copied = (bytes[0] & 0x40) != 0;
  made.repaired = (bytes[0] & 0x20) == 0;
  constexpr std::size_t edit_bytes = 12;
  for (bytes = bytes.subspan(1); bytes.size() >= edit_bytes && made.edits.size() < max_edits;
       bytes = bytes.subspan(edit_bytes)) {
    store_edit edit{};
    edit.where = static_cast<spot>(bytes[0] % static_cast<unsigned>(spot::count));
    edit.how = static_cast<word_change>(bytes[1] % static_cast<unsigned>(word_change::count));
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
    edit.where = static_cast<spot>(random() % static_cast<unsigned>(spot::count));
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
  if (reached.repaired) use_repaired();
  return reached;
}

}  // namespace outlast::fuzz
