// Transactions that are read as other processes read them: the readers share slots with the writer,
// and nothing else in ordinary memory. They die at any step.
#pragma once

#include <outlast/base/hash.hpp>
#include <outlast/base/thread_context.hpp>
#include <outlast/pool/any_domain.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/pool/pool_options.hpp>
#include <outlast/pool/pool_reader.hpp>
#include <outlast/tx/manager.hpp>
#include <outlast/tx/options.hpp>
#include <outlast/tx/reader.hpp>
#include <outlast/verify/explorer/transaction_subject.hpp>
#include <outlast/verify/machine/simulated.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace outlast::verify::detail {

/// Reads of an accounts_subject by readers of which each thread has one of its own.
template <class Manager>
class outside_reads {
 public:
  using pool_type = typename Manager::pool_type;

  /// As few as there may be: each is written again soon, and readers wait for each other.
  static constexpr tx::options space{.replica_bytes = 8192, .page_bytes = 256, .replicas = 3};

  [[nodiscard]] static std::unique_ptr<pool_type> open(std::span<std::byte> memory, bool fresh) {
    pool_options chosen;
    chosen.size_bytes = memory.size();
    chosen.capacity_bytes = memory.size();
    chosen.format_version = 2;
    chosen.max_readers = 16;
    chosen.reader_patience_ms = 3'600'000;
    return pool_type::in_memory(memory.data(), memory.size(), fresh, chosen);
  }

  outside_reads(pool_type& pool, Manager& /*manager*/) : pool_(pool) {}

  /// Asks a reader; the next one, if it dies.
  template <class T, class F>
  auto read(tx::root<T> named, F&& f) {
    std::unique_ptr<outsider>& mine = readers_[base::this_thread().slot % threads];
    for (;;) {
      if (!mine) mine = std::make_unique<outsider>(pool_, base::mix64(++made_) % steps);
      try {
        return mine->manager.read(named, [&](const T& object) {
          mine->step();
          const auto result = f(object);
          domain::simulated::schedule_point(&object);
          mine->step();
          return result;
        });
      } catch (const death&) {
        mine.reset();
      }
    }
  }

 private:
  static constexpr std::size_t threads = 8;
  static constexpr std::uint64_t steps = 16;

  struct death {};

  /// A reader that dies after a number of steps.
  struct outsider {
    outsider(pool_type& pool, std::uint64_t its_steps) : reader(pool), manager(reader, "subject") {
      steps_left = its_steps;
      reader.before_each_step([this] { step(); });
    }
    void step() {
      if (steps_left == 0 || --steps_left != 0) return;
      reader.die();
      throw death();
    }

    typename tx::reader<Manager>::pool_reader reader;
    tx::reader<Manager> manager;
    std::uint64_t steps_left = 0;  // 0: it lives for ever
  };

  pool_type& pool_;
  std::uint64_t made_ = 0;
  std::array<std::unique_ptr<outsider>, threads> readers_;
};

}  // namespace outlast::verify::detail
