// Arenas that are recovered by a scan: a map whose entries are blocks that nothing links, each with
// what it is in its first 16 bytes. What else lies in a block looks like such a beginning, so pages
// that come back with other strides are full of traps.
#include <tests/catalogue/pool_subject.hpp>

#include <outlast/alloc/arena.hpp>
#include <outlast/base/hash.hpp>

#include <array>
#include <map>

namespace outlast::verify::detail {
namespace {

using domain::simulated;
using scanned_blocks = alloc::arena<simulated>;

/// What a block begins with while it is an entry; otherwise `proof` is 0.
struct label {
  std::atomic<std::uint64_t> proof;
  std::atomic<std::uint64_t> entry;  // the key, and the value above it
};

constexpr unsigned key_bits = 16;
constexpr std::uint64_t fingerprint = 0x7363616e6e656421;

std::uint64_t proof_of(std::uint64_t entry) { return base::mix64(entry + 1) | 1; }

/// Blocks of several strides, and one with pages of its own.
std::size_t bytes_of(std::uint64_t value) {
  static constexpr std::array<std::size_t, 4> sizes = {24, 6000, 33000, 200};
  return sizes[value / 2 % sizes.size()];
}

/// `AtOnce`: spans that are made with one wait.
template <std::uint32_t AtOnce>
class scanned_world final : public world {
 public:
  explicit scanned_world(std::unique_ptr<simulated_pool> pool)
      : pool_(std::move(pool)),
        root_(pool_->attach_root("blocks", "scanned blocks", fingerprint, false)),
        blocks_(std::make_unique<scanned_blocks>(pool_->pages(), root_.index,
                                                 pool_format::recovery_mode::scan)) {
    blocks_->make_at_once(AtOnce);
    if (root_.state == root_state::fresh) {
      create();
      return;
    }
    object_ = reinterpret_cast<void*>(pool_->base() + root_.object_offset);
    if (root_.state == root_state::clean) {
      blocks_->load_clean();
      blocks_->for_each_block([&](void* block, std::size_t) { static_cast<void>(found(block)); });
    } else {
      blocks_->recover_by_scan(
          [&](void* block, std::size_t, std::uint64_t) { return found(block); });
    }
  }

  outcome apply(const call& what) override {
    const auto at = entries_.find(what.key);
    const bool present = at != entries_.end();
    switch (static_cast<map_operation>(what.kind)) {
      case map_operation::insert: return {!present && insert(what.key, what.argument)};
      case map_operation::erase: return {present && erase(at)};
      case map_operation::get: return present ? outcome{true, at->second.value} : outcome{};
      default: return {present};
    }
  }

  abstract_state observe() override {
    abstract_state state;
    for (const auto& [key, held] : entries_) {
      state.push_back(key);
      state.push_back(held.value);
    }
    return state;
  }

  std::string check(bool) override {
    if (!wrong_.empty()) return wrong_;
    std::size_t allocated = 0;
    blocks_->for_each_block([&](const void*, std::size_t) { ++allocated; });
    if (allocated != entries_.size() + 1) {
      return std::to_string(allocated) + " blocks are allocated for " +
             std::to_string(entries_.size()) + " entries and the root's object";
    }
    return check_accounts(*pool_);
  }

  void close() override {
    blocks_->save_occupancy();
    pool_->detach_root(root_.index, true);
    pool_->close();
  }

 private:
  struct held_block {
    std::uint64_t value;
    label* block;
  };
  using entry_map = std::map<std::uint64_t, held_block>;

  void create() {
    object_ = blocks_->allocate(sizeof(label));
    pool_->publish_root(root_.index, object_);
  }

  /// Is the block in use? Takes what it is.
  bool found(void* block) {
    if (block == object_) return true;
    auto* const here = static_cast<label*>(block);
    const std::uint64_t proof = simulated::load(here->proof, std::memory_order_acquire);
    const std::uint64_t entry = simulated::load(here->entry, std::memory_order_relaxed);
    if (proof != proof_of(entry)) return false;
    const std::uint64_t value = entry >> key_bits;
    const std::uint64_t key = entry & ((1U << key_bits) - 1);
    if (value == trap || !entries_.emplace(key, held_block{value, here}).second) {
      wrong_ = "what lay in an older block passes for an entry";
    }
    return true;
  }

  bool insert(std::uint64_t key, std::uint64_t value) {
    const std::size_t bytes = bytes_of(value);
    auto* const block = static_cast<label*>(blocks_->allocate(bytes));
    for (std::size_t at = trap_distance; at + sizeof(label) <= bytes; at += trap_distance) {
      write_label(reinterpret_cast<label*>(reinterpret_cast<std::byte*>(block) + at), key, trap);
    }
    write_label(block, key, value);
    simulated::psync();
    entries_.emplace(key, held_block{value, block});
    return true;
  }

  bool erase(entry_map::iterator at) {
    label* const block = at->second.block;
    simulated::store(block->proof, 0, std::memory_order_release);
    domain::persist_before_return<simulated>(&block->proof, sizeof block->proof);
    blocks_->deallocate(block);
    static_cast<void>(blocks_->trim());
    entries_.erase(at);
    return true;
  }

  static void write_label(label* to, std::uint64_t key, std::uint64_t value) {
    const std::uint64_t entry = value << key_bits | key;
    simulated::store(to->entry, entry, std::memory_order_relaxed);
    simulated::store(to->proof, proof_of(entry), std::memory_order_release);
    domain::flush<simulated>(to, sizeof(label));
  }

  /// The value of what is no entry.
  static constexpr std::uint64_t trap = (std::uint64_t{1} << (64 - key_bits)) - 1;
  static constexpr std::size_t trap_distance = 1024;

  std::unique_ptr<simulated_pool> pool_;
  attached_root root_;
  std::unique_ptr<scanned_blocks> blocks_;
  void* object_ = nullptr;
  entry_map entries_;
  std::string wrong_;
};

}  // namespace

void add_scanned(list& to) {
  using enum map_operation;
  add_pool<scanned_world<1>>(to, "pool_scanned", {insert, insert, erase, erase, contains, get},
                             {.threads = 1, .operations = 6, .keys = 3, .prefill = 3});
}

void add_scanned_pairs(list& to) {
  using enum map_operation;
  add_pool<scanned_world<2>>(to, "pool_scanned_pairs",
                             {insert, insert, erase, erase, contains, get},
                             {.threads = 1, .operations = 6, .keys = 3, .prefill = 3});
}

}  // namespace outlast::verify::detail
