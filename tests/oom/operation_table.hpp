// Families of structures and their operations: each operation runs in a fresh thread, in which the
// n-th operator new fails, for n = 1, 2, ... until the operation meets no failure any more. The
// effect is compared with the answer, then again after a clean closing and opening, and the blocks
// in use are counted after both a clean closing and a crash.
#pragma once

#include "tests/oom/failing_new.hpp"

#include <outlast/base/thread_context.hpp>
#include <outlast/pool/pool.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace outlast::test {

/// What a row of the table is: an operation and its effect on a model.
template <class Structure, class Model>
struct tested_operation {
  std::string name;
  /// Returns the answer; a few letters, for which no memory is needed.
  std::function<std::string(Structure&)> run;
  std::function<std::string(Model&)> expect;
};

/// A structure in a pool in memory, and its operations.
template <class Structure, class Model>
struct tested_family {
  using pool_type = typename Structure::pool_type;

  std::string name;
  std::function<std::unique_ptr<Structure>(pool_type&)> attach;
  std::function<void(Structure&)> fill;
  std::function<Model(Structure&)> content;
  std::function<std::string(Structure&)> check;  ///< what else is wrong; may be missing
  std::vector<tested_operation<Structure, Model>> operations;
  std::set<std::string> need_no_memory;  ///< operations in which no call can fail
};

/// What was seen of one operation.
struct tested_row {
  unsigned injected = 0;  ///< so many failures were met
  unsigned wrong = 0;     ///< after so many of them something was wrong
  std::string complaint;  ///< the first
};

/// Runs `work` in a child process and returns what it returns: a call of std::terminate() is a
/// failure like any other.
inline tested_row in_a_child(const std::function<tested_row()>& work) {
  int ends[2];
  if (::pipe(ends) != 0) return {0, 1, "no pipe is to be had"};
  std::fflush(stdout);
  const ::pid_t child = ::fork();
  if (child == 0) {
    const tested_row row = work();
    std::string text = std::to_string(row.injected) + " " + std::to_string(row.wrong) + " ";
    text += row.complaint;
    const bool is_written = ::write(ends[1], text.data(), text.size()) >= 0;
    ::_exit(is_written ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text;
  char some[512];
  for (::ssize_t got; (got = ::read(ends[0], some, sizeof some)) > 0;) {
    text.append(some, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = -1;
  (void)::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return {0, 1, "ended by signal " + std::to_string(WTERMSIG(status))};
  if (WEXITSTATUS(status) != 0) return {0, 1, "ended with " + std::to_string(WEXITSTATUS(status))};
  tested_row row;
  std::size_t used = 0;
  row.injected = static_cast<unsigned>(std::stoul(text, &used));
  text.erase(0, used + 1);
  row.wrong = static_cast<unsigned>(std::stoul(text, &used));
  row.complaint = text.substr(used + 1);
  return row;
}

/// One operation, one failure.
template <class Structure, class Model>
class tested_cell {
  using family_type = tested_family<Structure, Model>;
  using pool_type = typename Structure::pool_type;

 public:
  tested_cell(const family_type& family, failing_calls plan)
      : family_(family),
        plan_(plan),
        memory_(static_cast<std::byte*>(std::aligned_alloc(4096, bytes))) {
    open(true);
    family_.fill(*structure_);
  }
  ~tested_cell() {
    structure_.reset();
    pool_.reset();
    std::free(memory_);
  }
  tested_cell(const tested_cell&) = delete;
  tested_cell& operator=(const tested_cell&) = delete;

  [[nodiscard]] bool met() const noexcept { return plan_.met; }

  /// Returns what is wrong; nothing: all is well.
  [[nodiscard]] std::string run(const tested_operation<Structure, Model>& tested) {
    Model model = family_.content(*structure_);
    std::string result;
    const bool threw = run_in_a_thread(tested, result);
    if (threw && !plan_.met) return "threw although no call failed";
    if (!threw) {
      const std::string expected = tested.expect(model);
      if (result != expected) return "answered '" + result + "', not '" + expected + "'";
    }
    const std::string how = threw ? " after an exception" : " after an answer";
    if (std::string wrong = differs(model); !wrong.empty()) return wrong + how;
    close();
    open(false);
    if (std::string wrong = differs(model); !wrong.empty()) return wrong + how + ", reopened";
    const std::size_t closed = blocks();
    structure_.reset();
    pool_.reset();  // as a crash does
    open(false);
    if (std::string wrong = differs(model); !wrong.empty()) return wrong + how + ", recovered";
    const std::size_t recovered = blocks();
    if (closed == recovered) return closing_;
    return std::to_string(closed) + " blocks in use, not " + std::to_string(recovered) + how;
  }

 private:
  static constexpr std::size_t bytes = std::size_t{4} << 20;

  bool run_in_a_thread(const tested_operation<Structure, Model>& tested, std::string& result) {
    bool threw = false;
    std::thread([&] {
      // What an earlier thread of the slot has left would serve this one.
      base::this_thread().domain_state = nullptr;
      calls_to_fail = &plan_;
      try {
        result = tested.run(*structure_);
      } catch (const std::exception&) {
        threw = true;
      }
    }).join();
    return threw;
  }

  /// A block that could not be remembered may keep a pool from being marked clean.
  void close() {
    structure_.reset();
    try {
      pool_->close();
    } catch (const std::bad_alloc&) {
      if (!plan_.met) closing_ = "not closed although no call failed";
    }
    pool_.reset();
  }

  void open(bool fresh) {
    pool_options how;
    how.per_operation_device_sync = true;
    pool_ = pool_type::in_memory(memory_, bytes, fresh, how);
    structure_ = family_.attach(*pool_);
  }

  [[nodiscard]] std::string differs(const Model& model) {
    if (family_.content(*structure_) != model) return "another content";
    if constexpr (requires { structure_->size_estimate(); }) {
      const std::size_t size = structure_->size_estimate();
      if (size != model.size()) {
        return "a count of " + std::to_string(size) + ", not " + std::to_string(model.size());
      }
    }
    return family_.check ? family_.check(*structure_) : "";
  }

  [[nodiscard]] std::size_t blocks() {
    std::size_t count = 0;
    if constexpr (requires { structure_->arena(); }) {
      structure_->arena().for_each_block([&](void*, std::size_t) { ++count; });
    }
    return count;
  }

  const family_type& family_;
  failing_calls plan_;
  std::byte* memory_;
  std::unique_ptr<pool_type> pool_;
  std::unique_ptr<Structure> structure_;
  std::string closing_;
};

template <class Structure, class Model>
tested_row run_operation(const tested_family<Structure, Model>& family,
                         const tested_operation<Structure, Model>& tested) {
  constexpr std::size_t most = 100'000;
  tested_row row;
  for (const bool all_that_follow : {false, true}) {
    for (std::size_t n = 1; n < most; n += n < 40 ? 1 : n / 16) {
      tested_cell<Structure, Model> cell(family, {n, all_that_follow});
      const std::string wrong = cell.run(tested);
      if (cell.met()) ++row.injected;
      if (!wrong.empty()) {
        ++row.wrong;
        if (row.complaint.empty()) {
          row.complaint = "failure " + std::to_string(n) +
                          (all_that_follow ? " and all that follow: " : ": ") + wrong;
        }
      }
      if (!cell.met()) break;
    }
  }
  return row;
}

/// Runs all operations of a family and prints a line for each.
template <class Structure, class Model>
void expect_all_or_nothing(const tested_family<Structure, Model>& family) {
  for (const auto& each : family.operations) {
    const tested_row row = in_a_child([&] { return run_operation(family, each); });
    std::printf("%-34s %-22s %4u failures, %u wrong%s%s\n", family.name.c_str(), each.name.c_str(),
                row.injected, row.wrong, row.complaint.empty() ? "" : ": ", row.complaint.c_str());
    EXPECT_EQ(row.complaint, "") << family.name << ", " << each.name;
    EXPECT_EQ(row.injected == 0, family.need_no_memory.contains(each.name))
        << family.name << ", " << each.name << ": " << row.injected << " calls failed";
  }
}

}  // namespace outlast::test
