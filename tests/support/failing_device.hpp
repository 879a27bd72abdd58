// A device under the log of a pool that stops at some step, and what words that are published under
// it come to.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/domain.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/journal/redo_log.hpp>
#include <outlast/pool/pool.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace outlast::test {

/// Does `allowed` steps, writes and syncs, and then fails each.
class failing_device final : public pool_detail::log_device {
 public:
  explicit failing_device(std::uint64_t allowed, int error_number = EIO)
      : allowed_(allowed), error_number_(error_number) {
    pool_detail::test_hooks().device = this;
  }
  ~failing_device() override { pool_detail::test_hooks().device = nullptr; }
  failing_device(const failing_device&) = delete;
  failing_device& operator=(const failing_device&) = delete;

  int write(const std::string& path, int fd, std::uint64_t offset, const void* from,
            std::size_t size) override {
    ++steps;
    if (steps > allowed_ + 1) return error_number_;
    if (steps <= allowed_) return log_device::write(path, fd, offset, from, size);
    // The last step is cut off behind two lines.
    (void)log_device::write(path, fd, offset, from, std::min<std::size_t>(size, 128));
    return error_number_;
  }
  int sync(const std::string&, int) override { return ++steps > allowed_ ? error_number_ : 0; }

  std::uint64_t steps = 0;

 private:
  std::uint64_t allowed_;
  int error_number_;
};

/// Word `word` of the last page but `page` of a pool: no other code uses it.
template <class Pool>
std::uint64_t* word_at(Pool& pool, std::uint64_t page, std::size_t word = 0) {
  auto& pages = pool.pages();
  void* const first = pages.address_of(pages.limit() - 1 - static_cast<std::uint32_t>(page));
  return static_cast<std::uint64_t*>(first) + word;
}

/// Allocates the last 64 pages of a pool to a root, so that a close does not cut them off.
template <class Pool>
void keep_words(Pool& pool) {
  constexpr std::uint32_t kept = 64;
  const attached_root root = pool.attach_root("words", "words", 1, true);
  auto& pages = pool.pages();
  const auto allocate = [&](std::uint32_t count) {
    return pages.allocate_run(pool_format::run_kind::large, root.index, 1, count,
                              std::uint64_t{count} * pool_format::page_bytes);
  };
  const std::uint32_t begin = pages.end_of_use([](std::uint32_t) { return false; });
  void* const before = allocate(pages.limit() - begin - kept);
  void* const words = allocate(kept);
  if (words != pages.address_of(pages.limit() - kept)) throw std::logic_error("not the last pages");
  pool.publish_root(root.index, words);
  pages.free_run(before);
  pool.detach_root(root.index, false);
}

/// Creates a pool for word_at(), and closes it.
template <class D>
void create_with_words(const std::string& path, const pool_options& options) {
  auto made = basic_pool<D>::create(path, options);
  keep_words(made);
  made.close();
}

/// Lives in which a word is published that speaks of lines, few three times, then many, so that
/// some batches find the log too full; each incarnation ends one step later. What is wrong then; ""
/// if nothing.
inline std::string complaint_of_published_words(const std::string& path) {
  constexpr std::uint64_t transactions = 8;
  constexpr pool_options small{.size_bytes = 1 << 20, .log_bytes = 16 << 10};
  const auto lines_of = [](auto& pool, std::uint64_t value, auto&& visit) {
    const std::uint64_t first = 1 + 3 * (value - 1);  // pages that no earlier value had
    for (std::uint64_t page = first; page < first + (value % 4 == 0 ? 3 : 1); ++page) {
      for (std::size_t line = 0; line < 30; ++line) visit(word_at(pool, page, 8 * line));
    }
  };
  for (std::uint64_t allowed = 0;; ++allowed) {
    std::filesystem::remove(path);
    std::filesystem::remove(pool_detail::log_path_of(path));
    basic_pool<domain::process>::create(path, small).close();
    std::uint64_t acknowledged = 0;
    bool survived = false;
    {
      const failing_device device(allowed);
      try {
        auto pool = basic_pool<domain::logged_file>::open(path, small);
        auto& word = *reinterpret_cast<std::atomic<std::uint64_t>*>(word_at(pool, 0));
        for (std::uint64_t value = 1; value <= transactions; ++value) {
          lines_of(pool, value, [&](std::uint64_t* line) {
            *line = value;
            domain::flush<domain::logged_file>(line, sizeof *line);
          });
          domain::logged_file::stage();
          domain::logged_file::publish(word, value);
          acknowledged = value;
        }
      } catch (const error&) {
      }
      survived = device.steps <= allowed;
    }
    auto found = basic_pool<domain::process>::open(path);
    const std::uint64_t newest = *word_at(found, 0);
    const std::string after = " after " + std::to_string(allowed) + " steps";
    if (newest < acknowledged) return std::to_string(acknowledged) + " is lost" + after;
    for (std::uint64_t value = 1; value <= newest; ++value) {
      bool whole = true;
      lines_of(found, value, [&](const std::uint64_t* line) { whole = whole && *line == value; });
      if (!whole) return "the lines of " + std::to_string(value) + " are missing" + after;
    }
    found.close();
    if (survived) return allowed > 20 ? "" : "hardly a step was taken";
  }
}

/// Lives in which words are published with lines that get their content with them, on a log of
/// `Domain`; each incarnation ends one step later. What is wrong then; "" if nothing.
template <class Domain>
std::string complaint_of_lines_with_words(const std::string& path) {
  constexpr std::uint64_t transactions = 8;
  constexpr std::size_t many = 60;
  constexpr pool_options small{.size_bytes = 1 << 20, .log_bytes = 16 << 10};
  const auto lines_of = [](auto& pool, std::uint64_t value, auto&& visit) {
    for (std::size_t line = 0; line < (value % 4 == 0 ? many : 5); ++line) {
      visit(word_at(pool, 1 + 7 * line % 40, 8 * (line % 30)));  // the same again and again
    }
  };
  for (std::uint64_t allowed = 0;; ++allowed) {
    std::filesystem::remove(path);
    std::filesystem::remove(pool_detail::log_path_of(path));
    basic_pool<domain::process>::create(path, small).close();
    std::uint64_t acknowledged = 0;
    bool survived = false;
    {
      const failing_device device(allowed);
      try {
        auto pool = basic_pool<Domain>::open(path, small);
        auto& word = *reinterpret_cast<std::atomic<std::uint64_t>*>(word_at(pool, 0));
        for (std::uint64_t value = 1; value <= transactions; ++value) {
          alignas(64) std::array<std::uint64_t, 8> content{value};
          std::vector<domain::line_store> lines;
          lines_of(pool, value, [&](std::uint64_t* line) {
            lines.push_back({reinterpret_cast<std::byte*>(line),
                             reinterpret_cast<const std::byte*>(content.data())});
          });
          Domain::publish(word, value, lines);
          acknowledged = value;
        }
      } catch (const error&) {
        // What failed must not reach the file in another way.
        try {
          auto pool = basic_pool<Domain>::open(path, small);
        } catch (const error&) {
        }
      }
      survived = device.steps <= allowed;
    }
    auto found = basic_pool<domain::process>::open(path);
    const std::uint64_t newest = *word_at(found, 0);
    const std::string after = " after " + std::to_string(allowed) + " steps";
    if (newest < acknowledged) return std::to_string(acknowledged) + " is lost" + after;
    std::map<const std::uint64_t*, std::uint64_t> expected;
    for (std::uint64_t value = 1; value <= transactions; ++value) {
      lines_of(found, value, [&](const std::uint64_t* line) {
        std::uint64_t& last = expected[line];
        if (value <= newest) last = value;
      });
    }
    for (const auto& [line, value] : expected) {
      if (*line != value) return "a line is not of " + std::to_string(newest) + after;
    }
    found.close();
    if (survived) return allowed > 20 ? "" : "hardly a step was taken";
  }
}

}  // namespace outlast::test
