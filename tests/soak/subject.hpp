// What a soak works on: a structure, and what it should hold.
#pragma once

#include <tests/soak/content.hpp>

#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace outlast::test::soak {

/// Roles own keys and models; the thread that plays a role may be another one in each wave.
constexpr unsigned roles = 5;

/// What one role does in one wave.
struct turn {
  turn(unsigned its_role, u64 its_wave, u64 seed)
      : role(its_role), wave(its_wave), random(mixed(seed) ^ mixed(its_role * 7919U + its_wave)) {}

  /// Waves are a third, two thirds and all as high as they may be.
  [[nodiscard]] u64 amount(u64 most) const noexcept { return most * (1 + (wave + 2) % 3) / 3; }
  /// Does the role store a large value in the subject of that number? Guests do, who come to each
  /// wave.
  [[nodiscard]] bool is_for_large(unsigned subject) const noexcept {
    return role == 2 + (wave + subject) % 2;
  }

  unsigned role;
  u64 wave;
  std::mt19937_64 random;
};

/// Something was found that contradicts the model.
class lost_content : public std::runtime_error {
 public:
  lost_content(const std::string& where, const std::string& what)
      : std::runtime_error(where + ": " + what) {}
};

/// Thread-safety: the functions of a turn may be called concurrently for different roles, the
/// others while nothing else runs. All of them throw lost_content.
class subject {
 public:
  subject() = default;
  subject(const subject&) = delete;
  subject& operator=(const subject&) = delete;
  virtual ~subject() = default;

  virtual void grow(turn& of) = 0;
  /// Compares what the role has with its model.
  virtual void look(turn& of) = 0;
  virtual void shrink(turn& of) = 0;
  /// Compares the whole.
  virtual void check() = 0;
  /// Releases what is held, before the pool or the store is closed.
  virtual void let_go() {}
};

using subjects = std::vector<std::unique_ptr<subject>>;

/// How much a subject does in a wave.
struct scale {
  u64 operations;             ///< of each role, at most
  bool large = false;         ///< values of several MiB too, where values are bytes
  bool has_replicas = false;  ///< a wait-free engine takes one more where threads meet
  unsigned number = 0;
};

}  // namespace outlast::test::soak
