// The work of the demo's child processes, for any policy.
#pragma once

#include <apps/demo/exchange.hpp>
#include <apps/demo/instances.hpp>
#include <apps/demo/table.hpp>
#include <apps/demo/words.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

namespace outlast::apps::demo {

inline constexpr const char* pool_file = "demo.pool";

/// Runs a child under `task::ingest`: opens and recovers the table, copies its entries for the
/// parent, then ingests and acknowledges words until it is killed.
template <class Policy>
class ingestion {
 public:
  explicit ingestion(exchange& shared) : shared_(shared), header_(shared.header()) {}

  void run() {
    const auto start = std::chrono::steady_clock::now();
    word_table<Policy> table(std::filesystem::path(header_.folder) / pool_file, header_.pool_bytes);
    header_.recovery_ns = static_cast<std::uint64_t>(
        std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
    header_.reached.store(stage::ready, std::memory_order_release);
    show(table);
    header_.reached.store(stage::shown, std::memory_order_release);
    while (!header_.go) std::this_thread::sleep_for(std::chrono::seconds(1));
    ingest_with_all_threads(table);
    if (header_.reached.load(std::memory_order_acquire) == stage::failed) return;
    table.close();
    header_.reached.store(stage::finished, std::memory_order_release);
  }

 private:
  void show(word_table<Policy>& table) {
    std::uint64_t found = 0;
    table.for_each([&](const word_key& key, std::uint64_t packed) {
      if (found == header_.survivors_room) {
        throw std::runtime_error("the map holds more words than the text");
      }
      shared_.survivors()[found++] = {key, packed};
    });
    header_.survivors_found = found;
  }

  void ingest_with_all_threads(word_table<Policy>& table) {
    std::vector<std::jthread> threads;
    for (std::uint32_t thread = 0; thread < header_.threads; ++thread) {
      threads.emplace_back([this, &table, thread] {
        try {
          ingest_as(table, thread);
        } catch (const std::exception& failure) {
          put_text(header_.message, failure.what());
          header_.reached.store(stage::failed, std::memory_order_release);
        }
      });
    }
  }

  /// Ingests the stream from a position shortly before the thread's last acknowledgement.
  void ingest_as(word_table<Policy>& table, std::uint32_t thread) {
    const std::string_view text = shared_.text();
    const std::uint64_t last =
        header_.acknowledged[thread].position.load(std::memory_order_relaxed);
    const std::uint64_t start = last - std::min(last, header_.replay_bytes);
    std::uint64_t offset = start % text.size();
    for (std::uint64_t base = start - offset; base < header_.stop_after; base += text.size()) {
      for (word_scanner scanner(text, offset); scanner.next();) {
        const word_key key(scanner.word());
        if (owner_of(key, header_.threads) != thread) continue;
        ingest_one(table, key, thread, base + scanner.offset() + 1);
      }
      offset = 0;
    }
  }

  void ingest_one(word_table<Policy>& table, const word_key& key, std::uint32_t thread,
                  std::uint64_t position) {
    std::atomic<std::uint64_t>& acknowledged = header_.acknowledged[thread].position;
    const bool replayed = position <= acknowledged.load(std::memory_order_relaxed);
    if (!replayed && must_lose(thread)) {
      acknowledged.store(position, std::memory_order_release);
      return;
    }
    table.ingest(key, position, replayed && header_.fault == sabotage::repeat);
    // The operation has returned, so the word may be acknowledged.
    if (!replayed) acknowledged.store(position, std::memory_order_release);
  }

  bool must_lose(std::uint32_t thread) noexcept {
    return header_.fault == sabotage::lose && thread == 0 && ++seen_by_first_thread_ == 100;
  }

  exchange& shared_;
  exchange_header& header_;
  std::uint64_t seen_by_first_thread_ = 0;
};

}  // namespace outlast::apps::demo
