// Goal: byte strings in transactions hold any bytes of any length, inside the object and in a
// block, waste no block, and are undone. Method: strings in one replica of a manager without
// durability, against std::string.
#include <outlast/containers/byte_string.hpp>
#include <outlast/tx/heap.hpp>
#include <outlast/tx/transient.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace outlast::containers {
namespace {

using namespace tx;

struct several {
  static constexpr std::size_t count = 8;
  std::array<byte_string, count> of;
};

class ByteString : public testing::Test {
 protected:
  std::size_t bytes_in_use() {
    return manager_.read([](const_view) { return heap(running()).bytes_in_use(); });
  }
  std::string content(std::size_t i) {
    std::string found;
    manager_.read(strings_, [&](const several& at) { found = at.of.at(i).view(); });
    return found;
  }
  void assign(std::size_t i, const std::string& to) {
    manager_.update(strings_, [=](several& at) { at.of.at(i).assign(to); });
  }

  transient manager_{{.replica_bytes = std::size_t{1} << 20}};
  root<several> strings_ = manager_.root<several>("strings");
  std::size_t empty_ = bytes_in_use();
};

/// Lengths about where a string leaves its owner, and where blocks get larger.
std::string any_bytes(std::mt19937_64& random) {
  static constexpr std::array<std::size_t, 10> lengths = {0,  1,  15, 16,  17,
                                                          24, 64, 65, 500, 20'000};
  std::string bytes(lengths.at(random() % lengths.size()), '\0');
  for (char& each : bytes) each = static_cast<char>(random());
  return bytes;
}

TEST_F(ByteString, holds_what_it_was_given_last) {
  std::mt19937_64 random(1);
  std::array<std::string, several::count> model;
  for (int step = 0; step < 3000; ++step) {
    const std::size_t i = random() % several::count;
    const std::size_t from = random() % several::count;
    switch (random() % 4) {
      case 0:
        manager_.update(strings_, [=](several& at) { at.of.at(i).release(); });
        model.at(i).clear();
        break;
      case 1:
        if (from == i) break;
        manager_.update(strings_, [=](several& at) { at.of.at(i).take(at.of.at(from)); });
        model.at(i) = std::exchange(model.at(from), "");
        break;
      default: model.at(i) = any_bytes(random); assign(i, model.at(i));
    }
    for (std::size_t each = 0; each < several::count; ++each) {
      ASSERT_EQ(content(each), model.at(each)) << step;
    }
  }
  for (std::size_t i = 0; i < several::count; ++i) assign(i, "");
  EXPECT_EQ(bytes_in_use(), empty_);
}

TEST_F(ByteString, takes_no_block_for_sixteen_bytes) {
  assign(0, std::string(16, 'k'));
  EXPECT_EQ(bytes_in_use(), empty_);
  assign(0, std::string(17, 'k'));
  EXPECT_EQ(bytes_in_use(), empty_ + 32);
}

TEST_F(ByteString, can_be_given_a_part_of_itself) {
  const std::string held = std::string(40, 'a') + std::string(40, 'b');
  for (const std::size_t length : {5, 16, 17, 60, 80}) {
    assign(0, held);
    const std::size_t from = held.size() - length;
    manager_.update(strings_,
                    [=](several& at) { at.of[0].assign(at.of[0].view().substr(from, length)); });
    EXPECT_EQ(content(0), held.substr(from, length));
  }
  assign(0, "0123456789");
  manager_.update(strings_, [](several& at) { at.of[0].assign(at.of[0].view().substr(3, 5)); });
  EXPECT_EQ(content(0), "34567");
}

TEST_F(ByteString, is_what_it_was_when_its_operation_fails) {
  const std::string held(100, 'h');
  assign(0, held);
  assign(1, "short");
  const std::size_t before = bytes_in_use();
  const auto changes = [](several& at) {
    at.of[0].assign("other");
    at.of[1].assign(std::string(3000, 'x'));
    at.of[2].take(at.of[1]);
    throw std::runtime_error("no");
  };
  EXPECT_THROW(manager_.update(strings_, changes), std::runtime_error);
  EXPECT_EQ(content(0), held);
  EXPECT_EQ(content(1), "short");
  EXPECT_EQ(content(2), "");
  EXPECT_EQ(bytes_in_use(), before);
}

TEST_F(ByteString, larger_than_its_region_is_refused) {
  assign(0, "kept");
  EXPECT_THROW(assign(0, std::string(std::size_t{2} << 20, 'x')), out_of_space);
  EXPECT_EQ(content(0), "kept");
  const auto endless = [](several& at) {
    static constexpr char one = 'x';
    at.of[0].assign(std::string_view(&one, ~std::size_t{0} / 2));
  };
  EXPECT_THROW(manager_.update(strings_, endless), out_of_space);
  EXPECT_EQ(content(0), "kept");
}

TEST_F(ByteString, is_not_written_outside_of_an_update) {
  const auto write = [](const several& at) { const_cast<byte_string&>(at.of[0]).assign("x"); };
  EXPECT_THROW(manager_.read(strings_, write), error);
  EXPECT_THROW(byte_string("outside"), error);
}

}  // namespace
}  // namespace outlast::containers
