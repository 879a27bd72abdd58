// Kills of processes that change a store of records whose index outlives them.
//
// A child opens the store, compares it with a map, and makes changes until the parent kills it, in
// most cases between two instructions of the store. The next child finds what the instructions
// before the kill have stored. The change that was in progress is there as a whole, or it is not
// there. Pages and segments are small, so that most changes split or join pages.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/domain/process.hpp>
#include <src/db/records/index_file.hpp>
#include <tests/unit/db/record_engines.hpp>

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>

namespace outlast::store_detail::records {
/// What the child tells the parent.
struct shared {
  static constexpr std::size_t keys = 41;
  /// The hashes of the values after a number of changes; 0: the key is absent.
  struct state {
    std::atomic<std::uint64_t> changes{0};
    std::array<std::uint64_t, keys> hashes{};
  };

  std::array<state, 2> states;         ///< the one with more changes counts
  std::atomic<std::uint64_t> done{0};  ///< changes that the store has, as the child found
  /// Of a store without space: its keys have the numbers from `first` to `end`.
  std::atomic<std::uint64_t> first{0};
  std::atomic<std::uint64_t> end{0};
  std::atomic<std::uint64_t> reopened{0};  ///< openings with the index of the process before
  std::atomic<bool> is_ready{false};       ///< the changes begin
  std::atomic<bool> is_wrong{false};
  char what[400] = "";

  void set_wrong(const std::string& wrong) {
    if (!is_wrong.exchange(true)) std::snprintf(what, sizeof what, "%s", wrong.c_str());
  }
  [[noreturn]] void report(const std::string& wrong) {
    set_wrong(wrong);
    std::_Exit(3);
  }
};

inline std::size_t position_of(const std::string& key) {
  return key == "batch" ? shared::keys - 1 : std::stoul(key.substr(1));
}
inline std::uint64_t hash_of(const std::string& value) {
  return std::hash<std::string>()(value) | 1;
}

inline std::array<std::uint64_t, shared::keys> hashes_of(const content& all) {
  std::array<std::uint64_t, shared::keys> hashes{};
  for (const auto& [key, value] : all) hashes[position_of(key)] = hash_of(value);
  return hashes;
}

/// The changes, which depend on their numbers only.
struct change_number {
  enum class kind { put, erase, batch, compact, versions };

  explicit change_number(std::uint64_t number) {
    std::mt19937_64 random(number);
    key = "k" + std::to_string(random() % 40);
    other = "k" + std::to_string(random() % 40);
    value = random_value(random);
    constexpr kind kinds[] = {kind::put,   kind::put,   kind::put,     kind::erase,
                              kind::erase, kind::batch, kind::compact, kind::versions};
    what = kinds[random() % 8];
  }
  void apply_to(std::array<std::uint64_t, shared::keys>& hashes) const {
    if (what == kind::compact) return;
    if (what == kind::batch) hashes[position_of(other)] = 0;
    hashes[position_of(key)] = what == kind::erase ? 0 : hash_of(value);
    if (what == kind::batch) hashes[position_of("batch")] = hash_of(value);
  }
  void apply_to(engine& store) const {
    switch (what) {
      case kind::erase: return store.erase(key, true);
      case kind::put: return store.put(key, value, true);
      case kind::compact: return store.collect();
      case kind::versions: {
        const auto seen = store.take_snapshot();
        return store.put(key, value, true);
      }
      case kind::batch: break;
    }
    changes batch;
    batch.erase(other);
    batch.put(key, value);
    batch.put("batch", value);
    store.apply(std::move(batch), true);
  }

  kind what;
  std::string key;
  std::string other;
  std::string value;
};

/// A store whose processes are killed.
template <class Variant>
class killed_indexes {
 public:
  using domain_type = typename Variant::domain_type;
  using engine_type = typename Variant::engine_type;

  /// `patience`: a child that does not open the store for so long is taken for one that never does.
  explicit killed_indexes(std::chrono::seconds patience) : patience_(patience) {
    void* const got =
        ::mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    notes = new (got) shared;
  }
  ~killed_indexes() {
    index_file::remove_of(path());
    ::munmap(notes, sizeof(shared));
  }

  [[nodiscard]] std::string path() const { return directory.file("pool"); }
  std::unique_ptr<engine_type> open() {
    pool_options options;
    options.size_bytes = options.capacity_bytes = std::size_t{4} << 20;
    options.format_version = 2;
    std::shared_ptr<basic_pool<domain_type>> pool(
        new basic_pool<domain_type>(basic_pool<domain_type>::open_or_create(path(), options)));
    store_options wanted;
    wanted.order_name = "by bytes";
    std::shared_ptr<kept_region> index = index_file::open(path(), pool->uuid(), 0);
    if (index == nullptr) notes->report("there is no index file");
    return std::make_unique<engine_type>(std::move(pool), wanted, false, nullptr, std::move(index));
  }
  /// The life of a child.
  [[noreturn]] void live() {
    const auto store = open();
    if (store->records().has_reopened()) notes->reopened.fetch_add(1);
    if (const std::string wrong = store->check(); !wrong.empty()) notes->report(wrong);
    const content found = content_of(*store->take_snapshot());
    const auto hashes = hashes_of(found);
    auto& states = notes->states;
    const std::size_t newest = states[0].changes.load() >= states[1].changes.load() ? 0 : 1;
    auto expected = states[newest].hashes;
    std::uint64_t done = states[newest].changes.load();
    while (done < notes->done.load()) change_number(done++).apply_to(expected);
    if (hashes != expected) {
      // The change was in progress.
      change_number(done++).apply_to(expected);
      if (hashes != expected) notes->report("neither content is there");
    }
    states[1 - newest].hashes = expected;
    states[1 - newest].changes.store(done);
    if (store->keys() != found.size()) {
      notes->report(std::to_string(store->keys()) + " keys are counted, and there are " +
                    std::to_string(found.size()));
    }
    notes->done.store(done);
    notes->is_ready.store(true);
    for (;;) {
      change_number(done).apply_to(*store);
      notes->done.store(++done);
    }
  }
  /// The life of a child whose store has no space: it erases the oldest key, and puts new ones
  /// until one is refused, by turns. An erasure must not be refused.
  [[noreturn]] void live_without_space() {
    const auto store = open();
    if (store->records().has_reopened()) notes->reopened.fetch_add(1);
    if (const std::string wrong = store->check(); !wrong.empty()) notes->report(wrong);
    const auto key_of = [](std::uint64_t number) { return "key" + std::to_string(number); };
    std::string value;
    const auto has = [&](std::uint64_t number) {
      return store->get(key_of(number), value, true) == lookup_status::found;
    };
    // One change may have been in progress.
    std::uint64_t first = notes->first.load();
    std::uint64_t end = notes->end.load();
    if (has(end)) ++end;
    if (first != end && !has(first)) ++first;
    for (std::uint64_t i = first; i != end; ++i) {
      if (!has(i)) notes->report("key " + std::to_string(i) + " is missing");
    }
    if (store->keys() != end - first) notes->report("keys are there that were erased");
    notes->first.store(first);
    notes->end.store(end);
    const auto fill = [&] {
      try {
        for (;; notes->end.store(++end)) store->put(key_of(end), std::string(3000, 'x'), true);
      } catch (const out_of_space&) {
      }
      if (end - first < 100) notes->report("the store is full of nothing");
    };
    if (first == end) fill();
    for (notes->is_ready.store(true);; fill()) {
      store->erase(key_of(first), true);
      notes->first.store(++first);
    }
  }
  /// Starts a child, and kills it after so many nanoseconds of its changes.
  void kill_after(std::chrono::nanoseconds time, bool is_full = false) {
    notes->is_ready.store(false);
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        is_full ? live_without_space() : live();
      } catch (const std::exception& thrown) {
        notes->report(thrown.what());
      }
    }
    int status = 0;
    const auto deadline = std::chrono::steady_clock::now() + patience_;
    while (!notes->is_ready.load()) {
      if (std::chrono::steady_clock::now() > deadline) {
        ::kill(child, SIGKILL);
        ::waitpid(child, &status, 0);
        notes->set_wrong("the child does not open the store");
        return;
      }
      if (::waitpid(child, &status, WNOHANG) == child) {
        notes->set_wrong("the child ended with status " + std::to_string(status));
        return;
      }
      std::this_thread::yield();
    }
    std::this_thread::sleep_for(time);
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
  }

  shared* notes = nullptr;

 private:
  test::temp_directory directory;
  std::chrono::seconds patience_;
};

/// Kills processes after up to three milliseconds of changes, or 300 microseconds in a store that
/// `is_full`, until one finds something wrong. Returns what is wrong, or "".
template <class Variant>
std::string kill_again_and_again(killed_indexes<Variant>& store, std::uint64_t kills,
                                 bool is_full = false) {
  std::mt19937_64 random(kills);
  const std::uint64_t longest = is_full ? 300'000 : 3'000'000;
  for (std::uint64_t i = 0; i < kills; ++i) {
    store.kill_after(std::chrono::nanoseconds(random() % longest), is_full);
    if (store.notes->is_wrong.load()) {
      return store.notes->what + (", kill " + std::to_string(i));
    }
  }
  return "";
}

}  // namespace outlast::store_detail::records
