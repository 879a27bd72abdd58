// Queues and stacks under a soak.
#pragma once

#include <tests/soak/subject.hpp>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace outlast::test::soak {

/// A sequence that several roles share. The model is the sum of its values. Of a queue, each role
/// must also take the values of every other role in the order in which they were added.
template <class Sequence, bool in_order>
class sequence_subject final : public subject {
  using value = typename Sequence::value_type;

 public:
  sequence_subject(std::string name, std::unique_ptr<Sequence> in, scale how)
      : name_(std::move(name)), in_(std::move(in)), how_(how) {}

  void grow(turn& of) override {
    const u64 count = of.amount(how_.operations);
    for (u64 i = 0; i < count; ++i) {
      push(of, 0);
      if (of.random() % 4 == 0) pop(of);
    }
    if (how_.large && of.is_for_large(how_.number)) push(of, large_version(0, of.wave));
  }
  void look(turn&) override {}
  void shrink(turn& of) override {
    while (in_->size_estimate() > how_.operations / 16 && pop(of)) continue;
  }
  void check() override {
    u64 count = 0;
    u64 sum = 0;
    in_->for_each([&](const auto& each) {
      ++count;
      sum += mixed(number_in(each));
    });
    if (count == count_ && sum == sum_ && in_->size_estimate() == count) return;
    throw lost_content(name_, "it shows " + std::to_string(count) + " values and counts " +
                                  std::to_string(in_->size_estimate()) + ", " +
                                  std::to_string(count_) + " are expected" +
                                  (sum == sum_ ? "" : "; they are others than were stored"));
  }
  void let_go() override { in_.reset(); }

 private:
  /// A value tells which it is: its role in the highest byte, whether it is large, and a number.
  static constexpr u64 role_shift = 56;
  static constexpr u64 version_shift = 48;

  [[nodiscard]] static value made(u64 number) {
    if constexpr (std::is_same_v<value, std::string>) {
      const u64 version = number >> version_shift & 0xff;
      std::string text =
          value_of<std::string>(number, version == 0 ? 0 : large_bit | (version - 1));
      text.insert(0, reinterpret_cast<const char*>(&number), sizeof number);
      return text;
    } else {
      return number;
    }
  }
  template <class View>
  [[nodiscard]] u64 number_in(const View& of) const {
    if constexpr (std::is_same_v<value, std::string>) {
      u64 number = 0;
      if (of.size() < sizeof number) throw lost_content(name_, "a value is cut off");
      std::memcpy(&number, of.data(), sizeof number);
      return number;
    } else {
      return of;
    }
  }

  void push(turn& of, u64 version) {
    const u64 kind = version == 0 ? 0 : (version & ~large_bit) + 1;
    const u64 number = u64{of.role} << role_shift | kind << version_shift | ++pushed_.at(of.role);
    in_->push(made(number));
    count_ += 1;
    sum_ += mixed(number);
  }
  bool pop(turn& of) {
    const auto taken = in_->pop();
    if (!taken) return false;
    const u64 number = number_in(*taken);
    if (*taken != made(number)) throw lost_content(name_, "a value has changed");
    count_ -= 1;
    sum_ -= mixed(number);
    const u64 role = number >> role_shift;
    const u64 place = number & ((u64{1} << version_shift) - 1);
    if (role >= roles) throw lost_content(name_, "it holds what was never stored");
    u64& last = popped_.at(of.role).at(role);
    if (in_order && place <= last) {
      throw lost_content(name_, "value " + std::to_string(place) + " of role " +
                                    std::to_string(role) + " follows value " +
                                    std::to_string(last));
    }
    last = place;
    return true;
  }

  std::string name_;
  std::unique_ptr<Sequence> in_;
  scale how_;
  std::array<u64, roles> pushed_{};
  std::array<std::array<u64, roles>, roles> popped_{};
  std::atomic<u64> count_{0};
  std::atomic<u64> sum_{0};
};

template <class Sequence, bool in_order, class Pool>
void add_sequence(subjects& to, Pool& pool, const std::string& name, scale how) {
  how.number = static_cast<unsigned>(to.size());
  to.push_back(std::make_unique<sequence_subject<Sequence, in_order>>(
      name, std::make_unique<Sequence>(pool, name), how));
}

}  // namespace outlast::test::soak
