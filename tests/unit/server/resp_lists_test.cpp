// Goal: the commands of lists answer as Redis does.
// Method: commands and replies, fed whole and cut at every byte, over parts in ordinary memory.
// Random changes are compared with those of a deque.
#include <tests/unit/server/resp_stand.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <random>
#include <string>
#include <string_view>

namespace outlast::server {
namespace {

constexpr std::string_view wrong_type =
    "-WRONGTYPE Operation against a key holding the wrong kind of value";
constexpr std::string_view number = "-ERR value is not an integer or out of range";
constexpr std::string_view positive = "-ERR value is out of range, must be positive";

std::string letters(std::string_view each) {
  std::string made = "*" + std::to_string(each.size());
  for (const char letter : each) made.append("\r\n$1\r\n").push_back(letter);
  return made;
}

TEST(RespLists, elements_are_pushed_and_popped) {
  resp_expect_parts({{"RPUSH l a b", ":2"},
                     {"LPUSH l c d", ":4"},
                     {"LRANGE l 0 -1", letters("dcab")},
                     {"LLEN l", ":4"},
                     {"LPOP l", "$1\r\nd"},
                     {"RPOP l", "$1\r\nb"},
                     {"LPUSHX no a", ":0"},
                     {"RPUSHX l e f", ":4"},
                     {"LPOP l 2", letters("ca")},
                     {"RPOP l 5", letters("fe")},
                     {"EXISTS l", ":0"},
                     {"LPOP l", "$-1"},
                     {"LPOP l 2", "*-1"},
                     {"LPOP l -1", positive},
                     {"RPUSH l a", ":1"},
                     {"LPOP l 0", "*0"},
                     {"LPOP l 9223372036854775807", letters("a")},
                     {"LPOP l 1 2", "-ERR wrong number of arguments for 'lpop' command"},
                     {"SET x 1", "+OK"},
                     {"LPUSH x a", wrong_type},
                     {"LPUSHX x a", wrong_type},
                     {"LPOP x", wrong_type},
                     {"LRANGE x 0 1", wrong_type}});
}

TEST(RespLists, elements_have_places) {
  resp_expect_parts({{"RPUSH l a b c d", ":4"},
                     {"LINDEX l 0", "$1\r\na"},
                     {"LINDEX l -1", "$1\r\nd"},
                     {"LINDEX l 4", "$-1"},
                     {"LINDEX l -5", "$-1"},
                     {"LINDEX l -9223372036854775808", "$-1"},
                     {"LINDEX l x", number},
                     {"LINDEX no x", "$-1"},
                     {"LRANGE l 1 2", letters("bc")},
                     {"LRANGE l -2 9223372036854775807", letters("cd")},
                     {"LRANGE l 3 1", "*0"},
                     {"LSET l 1 x", "+OK"},
                     {"LSET l -1 y", "+OK"},
                     {"LRANGE l 0 -1", letters("axcy")},
                     {"LSET l 4 x", "-ERR index out of range"},
                     {"LSET l x x", number},
                     {"LSET no 0 x", "-ERR no such key"},
                     {"EXISTS no", ":0"},
                     {"TYPE l", "+list"}});
}

TEST(RespLists, elements_are_inserted_and_removed) {
  resp_expect_parts({{"RPUSH l a b c d", ":4"},
                     {"LINSERT l BEFORE a x", ":5"},
                     {"LINSERT l AFTER d y", ":6"},
                     {"LINSERT l AFTER a z", ":7"},
                     {"LINSERT l BEFORE d w", ":8"},
                     {"LRANGE l 0 -1", letters("xazbcwdy")},
                     {"LINSERT l BEFORE no x", ":-1"},
                     {"LINSERT no BEFORE a x", ":0"},
                     {"LINSERT l NEAR a x", "-ERR syntax error"},
                     {"LTRIM l 1 -2", "+OK"},
                     {"LRANGE l 0 -1", letters("azbcwd")},
                     {"RPUSH l a b a", ":9"},
                     {"LREM l 1 a", ":1"},
                     {"LREM l -1 b", ":1"},
                     {"LRANGE l 0 -1", letters("zbcwdaa")},
                     {"LREM l 0 a", ":2"},
                     {"LREM l -9223372036854775808 z", ":1"},
                     {"LREM l 0 no", ":0"},
                     {"LRANGE l 0 -1", letters("bcwd")},
                     {"LTRIM l 5 9", "+OK"},
                     {"EXISTS l", ":0"},
                     {"RPUSH l a a", ":2"},
                     {"LREM l 0 a", ":2"},
                     {"EXISTS l", ":0"}});
}

TEST(RespLists, places_are_found) {
  resp_expect_parts(
      {{"RPUSH l a b c a b c a", ":7"},
       {"LPOS l a", ":0"},
       {"LPOS l x", "$-1"},
       {"LPOS l a RANK 2", ":3"},
       {"LPOS l a RANK -1", ":6"},
       {"LPOS l a COUNT 0", "*3\r\n:0\r\n:3\r\n:6"},
       {"LPOS l a COUNT 2 RANK -2", "*2\r\n:3\r\n:0"},
       {"LPOS l c MAXLEN 2", "$-1"},
       {"LPOS l c MAXLEN 3", ":2"},
       {"LPOS l c COUNT 0 MAXLEN 2 RANK -1", "*1\r\n:5"},
       {"LPOS no a COUNT 1", "*0"},
       {"LPOS l a RANK 0",
        "-ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or "
        "use negative to start from the end of the list"},
       {"LPOS l a RANK -9223372036854775808",
        "-ERR value is out of range, value must between -9223372036854775807 and "
        "9223372036854775807"},
       {"LPOS l a RANK 9223372036854775807", "$-1"},
       {"LPOS l a COUNT -1", "-ERR COUNT can't be negative"},
       {"LPOS l a MAXLEN -1", "-ERR MAXLEN can't be negative"},
       {"LPOS l a FOO 1", "-ERR syntax error"},
       {"LPOS l a RANK", "-ERR syntax error"}});
}

TEST(RespLists, elements_are_moved) {
  resp_expect_parts({{"RPUSH l a b c", ":3"},
                     {"RPOPLPUSH l m", "$1\r\nc"},
                     {"LMOVE l m LEFT RIGHT", "$1\r\na"},
                     {"LRANGE m 0 -1", letters("ca")},
                     {"LMOVE m m LEFT RIGHT", "$1\r\nc"},
                     {"LRANGE m 0 -1", letters("ac")},
                     {"RPOPLPUSH l l", "$1\r\nb"},
                     {"LMOVE l m RIGHT LEFT", "$1\r\nb"},
                     {"EXISTS l", ":0"},
                     {"LRANGE m 0 -1", letters("bac")},
                     {"LMOVE l m LEFT LEFT", "$-1"},
                     {"LMOVE l m LEFT UP", "-ERR syntax error"},
                     {"SET x 1", "+OK"},
                     {"LMOVE m x LEFT LEFT", wrong_type},
                     {"RPOPLPUSH x m", wrong_type},
                     {"RPOPLPUSH no x", "$-1"},
                     {"LLEN m", ":3"},
                     {"LMPOP 2 no m RIGHT COUNT 2", "*2\r\n$1\r\nm\r\n*2\r\n$1\r\nc\r\n$1\r\na"},
                     {"LMPOP 1 no LEFT", "*-1"},
                     {"LMPOP 9223372036854775807 m LEFT", "-ERR syntax error"},
                     {"LMPOP 1 m LEFT COUNT 0", "-ERR count should be greater than 0"}});
}

TEST(RespLists, a_move_that_fails_has_no_effect) {
  for (const bool has_target : {false, true}) {
    for (int changes = 0; changes < 2; ++changes) {
      resp_stand stand({}, 0, true);
      stand.client.ask("RPUSH l a b");
      if (has_target) stand.client.ask("RPUSH m x");
      stand.space.changes_until_failure = changes;
      stand.space.failures = 1;
      EXPECT_TRUE(stand.client.ask("LMOVE l m LEFT RIGHT").starts_with("-OOM "));
      EXPECT_EQ(stand.client.ask("LRANGE l 0 -1"), letters("ab") + "\r\n");
      EXPECT_EQ(stand.client.ask("LRANGE m 0 -1"), letters(has_target ? "x" : "") + "\r\n");
    }
  }
}

TEST(RespLists, places_near_an_end_move_few_elements) {
  resp_stand stand({}, 0, true);
  for (int i = 0; i < 1000; ++i) stand.client.ask("RPUSH l " + std::to_string(i));
  for (const std::string_view line : {"LINDEX l 500", "LRANGE l 500 503", "LPOP l 2", "RPOP l 2",
                                      "LTRIM l 1 -2", "LSET l 500 x"}) {
    stand.space.visited_parts = 0;
    stand.client.ask(line);
    EXPECT_LE(stand.space.visited_parts, 4) << line;
  }
}

/// Lists of both kinds, and the commands that change them.
class compared_lists {
 public:
  explicit compared_lists(unsigned seed) : random_(seed) {}

  void step() {
    const std::string value(1, static_cast<char>('a' + pick(4)));
    const std::size_t size = model_.size();
    switch (pick(8)) {
      case 0: model_.push_back(value); return ask("RPUSH l " + value);
      case 1: model_.push_front(value); return ask("LPUSH l " + value);
      case 2: {
        const auto found = std::ranges::find(model_, "b");
        if (found != model_.end()) model_.insert(found, value);
        return ask("LINSERT l BEFORE b " + value);
      }
      case 3: {
        const auto found = std::ranges::find(model_, "c");
        if (found != model_.end()) model_.insert(found + 1, value);
        return ask("LINSERT l AFTER c " + value);
      }
      case 4: return remove(value);
      case 5: {
        if (size < 12) return;
        model_.pop_front();
        model_.pop_back();
        return ask("LTRIM l 1 -2");
      }
      case 6: {
        if (size == 0) return;
        model_.push_front(model_.back());
        model_.pop_back();
        return ask("RPOPLPUSH l l");
      }
      default: {
        if (size == 0) return;
        const std::size_t place = pick(size);
        model_[place] = value;
        return ask("LSET l " + std::to_string(place) + " " + value);
      }
    }
  }
  void expect_same() {
    std::string wanted = "*" + std::to_string(model_.size()) + "\r\n";
    for (const std::string& each : model_) wanted += "$1\r\n" + each + "\r\n";
    ASSERT_EQ(stand_.client.ask("LRANGE l 0 -1"), wanted) << last_;
  }

 private:
  std::size_t pick(std::size_t count) { return random_() % count; }
  void ask(const std::string& line) {
    last_ = line;
    stand_.client.ask(line);
  }
  void remove(const std::string& value) {
    const int count = static_cast<int>(pick(5)) - 2;
    std::size_t left = count == 0 ? model_.size() : static_cast<std::size_t>(std::abs(count));
    if (count < 0) std::ranges::reverse(model_);
    std::deque<std::string> kept;
    for (const std::string& each : model_) {
      if (each == value && left != 0) {
        --left;
      } else {
        kept.push_back(each);
      }
    }
    model_ = kept;
    if (count < 0) std::ranges::reverse(model_);
    ask("LREM l " + std::to_string(count) + " " + value);
  }

  std::mt19937 random_;
  resp_stand stand_{{}, 0, true};
  std::deque<std::string> model_;
  std::string last_;
};

TEST(RespLists, random_changes_are_those_of_a_deque) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    compared_lists lists(seed);
    for (int i = 0; i < 300; ++i) {
      lists.step();
      ASSERT_NO_FATAL_FAILURE(lists.expect_same()) << "seed " << seed << ", step " << i;
    }
  }
}

TEST(RespLists, copies_are_bounded) {
  resp_options options;
  options.limits.copied_bytes = 1000;
  resp_stand stand(options, 0, true);
  for (int i = 0; i < 100; ++i) stand.client.ask("RPUSH l element" + std::to_string(i));
  EXPECT_TRUE(stand.client.ask("LPOP l 100").starts_with("-ERR the elements are longer"));
  EXPECT_TRUE(stand.client.ask("LMPOP 1 l LEFT COUNT 100").starts_with("-ERR the elements"));
  EXPECT_EQ(stand.client.ask("LLEN l"), ":100\r\n");
}

}  // namespace
}  // namespace outlast::server
