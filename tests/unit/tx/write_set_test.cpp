// Goal: a write set has each line once, in every batch, and restores the contents of lines.
// Method: random lines against sets of the standard library.
#include <outlast/tx/detail/write_set.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <set>

namespace outlast::tx::detail {
namespace {

line_image image_of(std::uint64_t number) {
  line_image image;
  image.fill(static_cast<std::byte>(number));
  return image;
}

std::set<line_number> content(const write_set& of) {
  std::set<line_number> lines;
  of.for_each([&](line_number line) { EXPECT_TRUE(lines.insert(line).second) << "twice"; });
  return lines;
}

// A set that forgot its lines oldest first lost others whose places came behind theirs.
TEST(WriteSet, forgets_everything_from_batch_to_batch) {
  write_set written;
  std::mt19937_64 random(1);
  for (int batch = 0; batch < 5000; ++batch) {
    written.clear();
    std::set<line_number> model;
    for (std::uint64_t left = random() % 8; left > 0; --left) {
      const line_number line = random() % 100;
      written.touch(line, image_of(line).data());
      model.insert(line);
    }
    ASSERT_EQ(content(written), model);
    for (line_number line = 0; line < 100; ++line) {
      ASSERT_EQ(written.contains(line), model.count(line) != 0);
    }
  }
}

TEST(WriteSet, grows_with_its_lines) {
  write_set written;
  for (line_number line = 0; line < 10'000; ++line) written.touch(line * line, image_of(1).data());
  EXPECT_EQ(written.size(), 10'000U);
  for (line_number line = 0; line < 10'000; ++line) EXPECT_TRUE(written.contains(line * line));
  EXPECT_FALSE(written.contains(2));
}

void undo_one_of_two(write_set&& written) {
  std::map<line_number, int> undone;
  written.begin_operation();
  written.touch(7, image_of(10).data());
  written.touch(9, image_of(15).data());
  written.begin_operation();
  written.touch(7, image_of(20).data());
  written.touch(7, image_of(30).data());
  written.touch(8, image_of(40).data());
  written.undo_operation(
      [&](line_number line, const line_image& held) { undone[line] = static_cast<int>(held[5]); });
  EXPECT_EQ(undone, (std::map<line_number, int>{{7, 20}, {8, 40}}));
  EXPECT_EQ(content(written), (std::set<line_number>{7, 8, 9}));
}

TEST(WriteSet, undoes_one_operation_of_several) {
  undo_one_of_two(write_set());
  undo_one_of_two(write_set(write_set::keeps::images));
}

TEST(WriteSet, keeps_what_lines_held_before_and_after_the_batch) {
  write_set written(write_set::keeps::images);
  for (int batch = 0; batch < 2; ++batch) {
    written.clear();
    for (line_number line = 1; line < 100; ++line) {
      written.touch(line, image_of(line).data());
      written.begin_operation();
      written.touch(line, image_of(0).data());
    }
    std::map<line_number, line_image> media;
    written.seal(
        [&](line_number line) { return (media[line] = image_of(line + batch + 100)).data(); });
    std::map<line_number, line_image> before;
    std::map<line_number, line_image> after;
    std::set<line_number> expected;
    written.for_each_before([&](line_number line, const line_image& is) { before[line] = is; });
    written.for_each_after([&](line_number line) { expected.insert(line); },
                           [&](line_number line, const line_image& is) {
                             EXPECT_EQ(expected.count(line), 1U);
                             after[line] = is;
                           });
    EXPECT_EQ(before.size(), 99U);
    for (const auto& [line, is] : before) EXPECT_EQ(is, image_of(line));
    EXPECT_EQ(after, media);
  }
}

TEST(WriteSet, gives_the_memory_of_a_large_batch_back) {
  for (const auto kept : {write_set::keeps::lines, write_set::keeps::images}) {
    byte_count held;
    write_set written(kept, &held);
    const auto write = [&](line_number lines) {
      for (line_number line = 0; line < lines; ++line) written.touch(line, image_of(line).data());
      written.begin_operation();
      written.touch(0, image_of(1).data());
    };
    write(write_set::max_kept_lines / 2);
    const std::size_t usual = held.now();
    EXPECT_GT(usual, 0U);
    written.clear();
    EXPECT_EQ(held.now(), usual) << "the next batch needs it";
    write(10 * write_set::max_kept_lines);
    EXPECT_GT(held.now(), 2 * usual);
    written.clear();
    EXPECT_EQ(held.now(), 0U);
    EXPECT_TRUE(written.empty());
    write(3);
    EXPECT_EQ(content(written), (std::set<line_number>{0, 1, 2}));
  }
}

TEST(WriteSet, keeps_what_others_repeat_when_nothing_will_be_undone) {
  byte_count held;
  write_set written(write_set::keeps::images, &held);
  for (line_number line = 0; line < 10'000; ++line) written.touch(line, image_of(line).data());
  written.seal([content = image_of(7)](line_number) { return content.data(); });
  const std::size_t before = held.now();
  written.keep_only_afters();
  EXPECT_LT(held.now(), before * 2 / 3);
  std::size_t repeated = 0;
  written.for_each_after([](line_number) {},
                         [&](line_number line, const line_image& after) {
                           EXPECT_EQ(line, repeated++);
                           EXPECT_EQ(after, image_of(7));
                         });
  EXPECT_EQ(repeated, 10'000U);
  written.clear();
  EXPECT_EQ(held.now(), 0U);
}

}  // namespace
}  // namespace outlast::tx::detail
