// A structure whose lookups go through readers as other processes have them: they share slots with
// the writer, and nothing else in ordinary memory. They die at any step, or are evicted.
#pragma once

#include <tests/catalogue/catalogue_entries.hpp>

#include <outlast/base/hash.hpp>
#include <outlast/base/thread_context.hpp>
#include <outlast/domain/watched_blocks.hpp>
#include <outlast/lockfree/reader.hpp>
#include <outlast/pool/any_domain.hpp>
#include <outlast/pool/pool_reader.hpp>
#include <outlast/verify/machine/poisoning_epochs.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace outlast::lockfree {

template <>
inline constexpr bool waits_for_outside_readers<verify::eager_epochs> = true;
template <>
inline constexpr bool waits_for_outside_readers<verify::poisoning_epochs> = true;

}  // namespace outlast::lockfree

namespace outlast::verify::detail {

/// The fate of a reader in the middle of an operation.
enum class reader_fate {
  dies,        ///< and leaves its announcement
  is_evicted,  ///< by a writer without patience
};

/// A `Structure` in a pool of which each thread has a reader of its own.
template <class Structure, reader_fate Fate>
class read_outside : public Structure {
  using view = lockfree::reader<Structure>;
  using pool_reader = typename view::pool_reader;
  using value = typename Structure::mapped_type;

 public:
  using pool_type = typename Structure::pool_type;

  template <class... Options>
  read_outside(pool_type& pool, const std::string& name, const Options&... options)
      : Structure(pool, name, options...), pool_(pool), name_(name) {}

  [[nodiscard]] bool contains(std::uint64_t key) {
    return ask([&](const view& here) { return here.contains(key); });
  }
  [[nodiscard]] std::optional<value> get(std::uint64_t key) {
    return ask([&](const view& here) { return here.get(key); });
  }

 private:
  static constexpr std::size_t threads = 8;
  static constexpr std::uint64_t steps = 12;

  struct death {};

  /// A reader that dies after a number of steps.
  struct outsider {
    outsider(pool_type& pool, const std::string& name, std::uint64_t its_steps)
        : reader(pool), its_view(reader, name), steps_left(its_steps) {
      if (Fate != reader_fate::dies) return;
      reader.before_each_step([this] {
        if (steps_left == 0 || --steps_left != 0) return;
        reader.die();
        throw death();
      });
    }

    pool_reader reader;
    view its_view;
    std::uint64_t steps_left;  // 0: it lives for ever
  };

  /// Asks a reader; the next one, if it dies.
  template <class Ask>
  auto ask(Ask&& ask) {
    std::unique_ptr<outsider>& mine = readers_[base::this_thread().slot % threads];
    for (;;) {
      if (!mine) {
        // Another fiber of this thread does not exist: `mine` is empty until then.
        mine = std::make_unique<outsider>(pool_, name_, base::mix64(++made_) % steps);
      }
      try {
        if constexpr (Fate == reader_fate::is_evicted) {
          // A reader that was evicted reads free blocks until it notices that.
          const domain::tolerates_freed<domain::simulated> until_then;
          return ask(mine->its_view);
        } else {
          return ask(mine->its_view);
        }
      } catch (const death&) {
        mine.reset();
      }
    }
  }

  pool_type& pool_;
  std::string name_;
  std::uint64_t made_ = 0;
  std::array<std::unique_ptr<outsider>, threads> readers_;
};

/// A `Structure` that is a read_outside, in a pool with readers.
template <class Structure>
class outside_subject final : public structure_subject<Structure> {
  using pool_type = typename Structure::pool_type;

 public:
  outside_subject(std::string name, structure_parts<Structure> how, unsigned patience_ms)
      : structure_subject<Structure>(std::move(name), std::move(how)), patience_ms_(patience_ms) {}

  [[nodiscard]] const oracle& checker() const override { return checker_; }
  void format(std::span<std::byte> memory) override { (void)open_pool_in(memory, true); }
  [[nodiscard]] std::unique_ptr<world> open(std::span<std::byte> memory, bool fresh) override {
    return std::make_unique<map_world<Structure>>(open_pool_in(memory, fresh), this->how().make,
                                                  this->how().blocks);
  }

 private:
  [[nodiscard]] std::unique_ptr<pool_type> open_pool_in(std::span<std::byte> memory,
                                                        bool fresh) const {
    pool_options chosen;
    chosen.size_bytes = memory.size();
    chosen.capacity_bytes = memory.size();
    chosen.format_version = 2;
    chosen.max_readers = 16;
    chosen.reader_patience_ms = patience_ms_;
    return pool_type::in_memory(memory.data(), memory.size(), fresh, chosen);
  }

  static std::vector<map_operation> operations() {
    using enum map_operation;
    return {insert, erase, erase, update, contains, get, get};
  }

  unsigned patience_ms_;
  map_oracle checker_{operations(), true};
};

/// How the entry is explored: three operations of two threads.
inline constexpr scope beside_outsiders{.threads = 2, .operations = 3, .keys = 2, .prefill = 2};

template <class Structure, reader_fate Fate, class... Options>
[[nodiscard]] std::unique_ptr<subject> make_outside_subject(const std::string& name,
                                                            const Options&... options) {
  using tested = read_outside<Structure, Fate>;
  structure_parts<tested> how;
  how.make = [options...](auto& pool) {
    return std::make_unique<tested>(pool, "subject", options...);
  };
  constexpr unsigned for_ever = 3'600'000;
  return std::make_unique<outside_subject<tested>>(name, how,
                                                   Fate == reader_fate::dies ? for_ever : 0);
}

template <class Structure, class... Options>
void add_outside_readers(list& to, const std::string& name, const Options&... options) {
  const auto add = [&](const std::string& its_name, auto make) {
    to.push_back({its_name, Structure::policy_type::name(), make, beside_outsiders});
  };
  add(name + "_readers_die", [=] {
    return make_outside_subject<Structure, reader_fate::dies>(name + "_readers_die", options...);
  });
  add(name + "_readers_evicted", [=] {
    return make_outside_subject<Structure, reader_fate::is_evicted>(name + "_readers_evicted",
                                                                    options...);
  });
}

}  // namespace outlast::verify::detail
