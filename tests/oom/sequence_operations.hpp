// The operations of queues and stacks of numbers.
#pragma once

#include "tests/oom/map_operations.hpp"
#include "tests/oom/operation_table.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace outlast::test {

using ordered_numbers = std::deque<std::uint64_t>;

/// A family of queues, or of stacks, whose content begins at the top.
template <class Sequence>
[[nodiscard]] tested_family<Sequence, ordered_numbers> family_of_sequences(
    const std::string& name,
    std::function<std::unique_ptr<Sequence>(typename Sequence::pool_type&)> attach,
    bool is_a_stack) {
  using value = typename Sequence::value_type;
  tested_family<Sequence, ordered_numbers> made;
  made.name = name;
  made.attach = std::move(attach);
  made.fill = [](Sequence& in) {
    for (std::uint64_t n = 0; n < 20; ++n) in.push(from_number<value>(n));
    for (unsigned i = 0; i < 5; ++i) (void)in.pop();
  };
  made.content = [](Sequence& of) {
    ordered_numbers found;
    of.for_each([&](const auto& each) { found.push_back(to_number(each)); });
    return found;
  };
  const auto fresh = from_number<value>(77);
  const auto add = [=](ordered_numbers& m) {
    is_a_stack ? m.push_front(77) : m.push_back(77);
    return yes(true);
  };
  auto& rows = made.operations;
  rows.push_back({"push",
                  [=](Sequence& s) {
                    s.push(fresh);
                    return yes(true);
                  },
                  add});
  rows.push_back({"pop",
                  [](Sequence& s) {
                    const auto got = s.pop();
                    std::string result = "nothing";
                    without_failures([&] {
                      if (got) result = std::to_string(to_number(*got));
                    });
                    return result;
                  },
                  [](ordered_numbers& m) {
                    const std::uint64_t first = m.front();
                    m.pop_front();
                    return std::to_string(first);
                  }});
  if constexpr (requires(Sequence& s) { s.empty(); }) {
    rows.push_back({"empty", [](Sequence& s) { return yes(s.empty()); },
                    [](ordered_numbers& m) { return yes(m.empty()); }});
  }
  rows.push_back({"for_each",
                  [](Sequence& s) {
                    std::size_t count = 0;
                    s.for_each([&](const auto&) { ++count; });
                    return std::to_string(count);
                  },
                  [](ordered_numbers& m) { return std::to_string(m.size()); }});
  rows.push_back({"many of them",
                  [=](Sequence& s) {
                    for (unsigned i = 0; i < 150; ++i) {
                      try_to([&] { s.push(fresh); });
                      try_to([&] { (void)s.pop(); });
                    }
                    without_failures([&] {
                      while (s.pop()) {
                      }
                    });
                    return yes(true);
                  },
                  [](ordered_numbers& m) {
                    m.clear();
                    return yes(true);
                  }});
  return made;
}

}  // namespace outlast::test
