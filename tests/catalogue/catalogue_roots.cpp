// The pool's own operations: creating roots, dropping them, giving runs of pages back and using
// them again. The control plane takes a mutex, so there is one thread.
#include <tests/catalogue/pool_subject.hpp>

#include <outlast/alloc/arena.hpp>
#include <outlast/base/hash.hpp>

#include <array>
#include <cstring>

namespace outlast::verify::detail {
namespace {

using domain::simulated;
using blocks_of_root = alloc::arena<simulated>;

constexpr std::uint64_t fingerprint = 0x9e3779b97f4a7c15;

/// What a block begins with on each of its pages: foreign content does not pass for its own.
struct stamp {
  std::uint64_t value;
  std::uint64_t seal;
  friend bool operator==(const stamp&, const stamp&) = default;
};

stamp stamp_of(std::uint64_t value, std::size_t page) {
  return {value, base::mix64(value * 64 + page + 1)};
}

/// The extent of the block that holds a value: runs of one page, two and five, cut into blocks, and
/// an aligned run of its own. Reused by one another they begin and end at different pages.
struct extent {
  std::size_t bytes;
  std::size_t align;

  [[nodiscard]] std::size_t pages() const {
    return (bytes + pool_format::page_bytes - 1) / pool_format::page_bytes;
  }
};

extent extent_of(std::uint64_t value) {
  static constexpr std::array<extent, 4> extents = {extent{24, 8}, extent{6000, 8},
                                                    extent{20000, 8}, extent{5000, 8192}};
  return extents[value / 2 % extents.size()];
}

/// Half of the roots are detached properly: their blocks are written down, the others' traced.
bool closes_properly(std::uint64_t value) { return value % 2 == 0; }

/// The object of a root.
struct alignas(64) document {
  std::atomic<std::uint64_t> text;  // the offset of the block that holds the value
};

/// A root in use: attached, and its blocks known.
class opened_root {
 public:
  opened_root(simulated_pool& pool, const std::string& name)
      : pool_(pool),
        root_(pool.attach_root(name, "document", fingerprint, false)),
        blocks_(std::make_unique<blocks_of_root>(pool.pages(), root_.index)) {
    if (root_.state == root_state::fresh) return;
    document_ = reinterpret_cast<document*>(pool.base() + root_.object_offset);
    if (root_.state == root_state::clean) {
      blocks_->load_clean();
    } else {
      trace();
    }
  }

  /// Gives a fresh root its object and a value, and makes it live.
  void create(std::uint64_t value) {
    prepare(value);
    pool_.publish_root(root_.index, document_);
  }
  /// The same, but for its last step.
  void prepare(std::uint64_t value) {
    document_ = static_cast<document*>(blocks_->allocate(sizeof(document), alignof(document)));
    simulated::store(document_->text, written(value), std::memory_order_release);
    domain::persist<simulated>(document_, sizeof(document));
  }

  /// Another value in another block; the pages of the old one go back to the pool.
  void replace(std::uint64_t value) {
    void* const old = text();
    simulated::store(document_->text, written(value), std::memory_order_release);
    domain::persist_before_return<simulated>(document_, sizeof(document));
    blocks_->deallocate(old);
    static_cast<void>(blocks_->trim());
  }

  /// The value, or `torn` where one of its pages holds something else.
  [[nodiscard]] std::uint64_t value() const {
    const std::uint64_t offset = simulated::load(document_->text, std::memory_order_acquire);
    if (!pool_.pages().contains_offset(offset)) return torn;
    const std::uint64_t found = stamp_at(0).value;
    const extent needed = extent_of(found);
    if (pool_.pages().block_bytes(text(), root_.index) < needed.bytes) return torn;
    for (std::size_t page = 0; page < needed.pages(); ++page) {
      if (stamp_at(page) != stamp_of(found, page)) return torn;
    }
    return found;
  }

  /// The document and the text are allocated, and nothing else is. Empty, or what is wrong.
  [[nodiscard]] std::string check() {
    unsigned others = 0;
    unsigned mine = 0;
    blocks_->for_each_block([&](const void* block, std::size_t) {
      ++(block == document_ || block == text() ? mine : others);
    });
    if (mine == 2 && others == 0) return "";
    return "of a root's two blocks " + std::to_string(mine) + " are allocated, and " +
           std::to_string(others) + " others";
  }

  /// Ends the use. A root that was not created is gone.
  void close(bool properly) {
    if (properly) blocks_->save_occupancy();
    pool_.detach_root(root_.index, properly);
  }

 private:
  [[nodiscard]] std::byte* text() const {
    const std::uint64_t offset = simulated::load(document_->text, std::memory_order_acquire);
    return reinterpret_cast<std::byte*>(pool_.base() + offset);
  }
  [[nodiscard]] stamp stamp_at(std::size_t page) const {
    stamp found;
    std::memcpy(&found, text() + page * pool_format::page_bytes, sizeof found);
    return found;
  }
  void trace() {
    auto marking = blocks_->begin_recovery();
    marking.mark(document_);
    marking.mark(text());
    marking.finish();
  }
  /// Writes `value` to a block of its own; durable at return. The block's offset.
  [[nodiscard]] std::uint64_t written(std::uint64_t value) {
    const extent needed = extent_of(value);
    auto* const block = static_cast<std::byte*>(blocks_->allocate(needed.bytes, needed.align));
    for (std::size_t page = 0; page < needed.pages(); ++page) {
      const stamp mark = stamp_of(value, page);
      std::byte* const at = block + page * pool_format::page_bytes;
      simulated::write(at, &mark, sizeof mark);
      domain::flush<simulated>(at, sizeof mark);
    }
    domain::fence<simulated>();
    return pool_.pages().offset_of(block);
  }

  simulated_pool& pool_;
  attached_root root_;
  std::unique_ptr<blocks_of_root> blocks_;
  document* document_ = nullptr;
};

/// A map whose keys are roots.
class root_world final : public world {
 public:
  explicit root_world(std::unique_ptr<simulated_pool> pool) : pool_(std::move(pool)) {}

  outcome apply(const call& what) override {
    switch (static_cast<map_operation>(what.kind)) {
      case map_operation::insert: return {!live(what.key) && insert(what.key, what.argument)};
      case map_operation::erase: return {live(what.key) && erase(what.key)};
      case map_operation::contains: return {live(what.key)};
      case map_operation::get: return live(what.key) ? outcome{true, get(what.key)} : outcome{};
      case map_operation::put:
        return {live(what.key) ? !update(what.key, what.argument)
                               : insert(what.key, what.argument)};
      case map_operation::update: return {live(what.key) && update(what.key, what.argument)};
      case map_operation::clear: break;  // not drawn
    }
    return {};
  }

  abstract_state observe() override {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> entries;
    for (const root_info& root : pool_->roots()) {
      if (root.live) entries.emplace_back(key_of(root.name), get(key_of(root.name)));
    }
    return state_of(std::move(entries));
  }

  std::string check(bool) override { return wrong_.empty() ? check_accounts(*pool_) : wrong_; }

  void close() override { pool_->close(); }

 private:
  bool live(std::uint64_t key) const {
    for (const root_info& root : pool_->roots()) {
      if (root.live && root.name == name_of(key)) return true;
    }
    return false;
  }

  bool insert(std::uint64_t key, std::uint64_t value) {
    if (value % 4 == 3) {  // changes its mind once
      opened_root unfinished(*pool_, name_of(key));
      unfinished.prepare(value + 2);
      unfinished.close(false);
    }
    opened_root fresh(*pool_, name_of(key));
    fresh.create(value);
    fresh.close(closes_properly(value));
    return true;
  }

  bool update(std::uint64_t key, std::uint64_t value) {
    opened_root root(*pool_, name_of(key));
    root.replace(value);
    root.close(closes_properly(value));
    return true;
  }

  std::uint64_t get(std::uint64_t key) {
    opened_root root(*pool_, name_of(key));
    const std::uint64_t value = root.value();
    if (wrong_.empty()) wrong_ = root.check();
    root.close(closes_properly(value));
    return value;
  }

  bool erase(std::uint64_t key) {
    pool_->drop_root(name_of(key));
    return true;
  }

  std::unique_ptr<simulated_pool> pool_;
  std::string wrong_;  // about the blocks of a root that was looked at
};

}  // namespace

void add_roots(list& to) {
  using enum map_operation;
  add_pool<root_world>(to, "pool_roots", {insert, insert, erase, erase, contains, get, put, update},
                       {.threads = 1, .operations = 6, .keys = 3, .prefill = 4});
}

}  // namespace outlast::verify::detail
