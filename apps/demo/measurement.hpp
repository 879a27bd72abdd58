// Measures throughput compared with a transient table, and counts flushes and fences.
#pragma once

#include <apps/demo/exchange.hpp>
#include <apps/demo/instances.hpp>
#include <apps/demo/table.hpp>
#include <apps/demo/words.hpp>
#include <outlast/base/thread_context.hpp>
#include <outlast/domain/adr.hpp>
#include <outlast/domain/counting.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/hw/flush.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

namespace outlast::apps::demo {

/// The words of the text, scanned in advance, so that the measurement does not include the scanner.
/// Immutable after construction.
class prepared_text {
 public:
  prepared_text(std::string_view text, std::uint32_t threads) : text_(text), tokens_(threads) {
    for (word_scanner scanner(text); scanner.next(); ++words_) {
      const std::uint32_t owner = owner_of(word_key(scanner.word()), threads);
      tokens_[owner].push_back({static_cast<std::uint32_t>(scanner.offset()),
                                static_cast<std::uint32_t>(scanner.word().size())});
    }
  }

  [[nodiscard]] std::size_t words() const noexcept { return words_; }
  [[nodiscard]] std::uint32_t threads() const noexcept {
    return static_cast<std::uint32_t>(tokens_.size());
  }

  /// Ingests at most `max_words` words of `thread`, as pass `pass` of the stream. Returns their
  /// number.
  template <class Table>
  std::size_t ingest(Table& table, std::uint32_t thread, std::uint64_t pass,
                     std::size_t max_words = std::numeric_limits<std::size_t>::max()) const {
    const std::size_t count = std::min(max_words, tokens_[thread].size());
    for (std::size_t i = 0; i < count; ++i) {
      const token at = tokens_[thread][i];
      table.ingest(word_key(text_.substr(at.offset, at.length)),
                   pass * text_.size() + at.offset + 1);
    }
    return count;
  }

 private:
  struct token {
    std::uint32_t offset;
    std::uint32_t length;
  };
  std::string_view text_;
  std::vector<std::vector<token>> tokens_;
  std::size_t words_ = 0;
};

/// A table that is measured in turns with another one.
class timed {
 public:
  virtual ~timed() = default;
  /// Ingests `passes` passes with all threads. Returns million words per second.
  virtual double run(std::uint64_t passes) = 0;
};

/// A table that is filled once and then measured pass by pass.
template <class Policy>
class timed_table final : public timed {
 public:
  timed_table(exchange_header& header, const prepared_text& text, const char* file)
      : table_(std::filesystem::path(header.folder) / file, header.pool_bytes), text_(text) {
    run(1);
  }

  double run(std::uint64_t passes) override {
    const auto start = std::chrono::steady_clock::now();
    {
      std::vector<std::jthread> threads;
      for (std::uint32_t thread = 0; thread < text_.threads(); ++thread) {
        threads.emplace_back([=, this] {
          for (std::uint64_t i = 0; i < passes; ++i) text_.ingest(table_, thread, pass_ + i);
        });
      }
    }
    pass_ += passes;
    const std::chrono::duration<double, std::micro> elapsed =
        std::chrono::steady_clock::now() - start;
    return static_cast<double>(passes * text_.words()) / elapsed.count();
  }

 private:
  word_table<Policy> table_;
  const prepared_text& text_;
  std::uint64_t pass_ = 0;
};

/// The filled table without durability. It is compiled once for all policies.
[[nodiscard]] std::unique_ptr<timed> make_transient_twin(exchange_header& header,
                                                         const prepared_text& text);

/// Measures `durable` and the transient table in turns, so that disturbances affect both.
void measure_throughput(exchange_header& header, const prepared_text& text, timed& durable);

/// Counts the flushes and fences of `Policy` per word in a filled table, under a counting domain.
template <class Policy>
void count_flushes(exchange_header& header, const prepared_text& text) {
  constexpr std::size_t words_counted = 100'000;
  word_table<Policy> table(std::filesystem::path(header.folder) / "counted.pool",
                           header.pool_bytes);
  // Two passes, because the pass after the growth of the table still links sentinels of new
  // buckets.
  for (std::uint64_t pass = 0; pass < 2; ++pass) text.ingest(table, 0, pass, words_counted);
  const base::thread_context& counts = base::this_thread();
  const std::uint64_t flushes = counts.flushes;
  const std::uint64_t fences = counts.fences;
  const std::size_t words = text.ingest(table, 0, 2, words_counted);
  const double per_word = words == 0 ? 0 : 1 / static_cast<double>(words);
  header.measured.flushes_per_op = static_cast<double>(counts.flushes - flushes) * per_word;
  header.measured.fences_per_op = static_cast<double>(counts.fences - fences) * per_word;
}

/// Two rows have this policy, under two domains.
extern template void count_flushes<
    durable::flit<durable::tag::adjacent, durable::automatic, domain::counting<domain::adr>>>(
    exchange_header& header, const prepared_text& text);

/// Runs a child under `task::measure`. `Kind::policy<D>` is the policy under domain D. Flushes and
/// fences are counted under `adr` for every domain, because a flush has no cost in the other
/// domains.
template <class Kind, class Domain>
void measure(exchange& shared) {
  using counted_domain = domain::counting<domain::adr>;
  exchange_header& header = shared.header();
  const prepared_text text(shared.text(), header.threads);
  {
    timed_table<typename Kind::template policy<Domain>> durable(header, text, "durable.pool");
    measure_throughput(header, text, durable);
  }
  if (hw::best_flush_instruction() != hw::flush_instruction::none) {
    count_flushes<typename Kind::template policy<counted_domain>>(header, text);
  }
  header.reached.store(stage::finished, std::memory_order_release);
}

}  // namespace outlast::apps::demo
