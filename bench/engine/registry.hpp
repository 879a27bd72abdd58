// Which combinations of structure, policy and domain this program holds.
#pragma once

#include <bench/engine/subject.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::bench {

/// Names as in the code: `harris_list`, `flit<adjacent,automatic>`, `adr`.
struct combination {
  std::string structure;
  std::string policy;
  std::string domain;

  friend bool operator==(const combination&, const combination&) = default;
};

using subject_factory = std::function<std::unique_ptr<subject>(const subject_options&)>;

/// How to build a subject, and the same over `domain::counting`. `make` is empty where this build
/// left the combination out; `make_counting` is empty where nothing is counted: over `process`,
/// which never flushes, and in others' structures.
struct registration {
  combination names;
  subject_factory make;
  subject_factory make_counting;
};

/// The policy and domain of the baseline of every ratio.
inline constexpr std::string_view twin_policy = "transient";
inline constexpr std::string_view twin_domain = "process";

/// A list of registrations; a plain value. Not thread-safe.
class registry {
 public:
  /// Each combination once: throws error{bad_argument} on a second one.
  void add(registration entry);
  /// What lacks counts over `domain` gets those of the same structure and policy over `other`.
  void count_as(std::string_view domain, std::string_view other);
  /// Null if there is no such combination.
  [[nodiscard]] const registration* find(const combination& names) const;
  [[nodiscard]] const std::vector<registration>& all() const noexcept { return entries_; }

  /// The distinct names of one kind, in order of registration.
  [[nodiscard]] std::vector<std::string> structures() const;
  [[nodiscard]] std::vector<std::string> policies() const;
  [[nodiscard]] std::vector<std::string> domains() const;

 private:
  [[nodiscard]] std::vector<std::string> distinct(std::string combination::* field) const;

  std::vector<registration> entries_;
};

/// Everything that CMake generated: see bench/combinations.cmake.
[[nodiscard]] registry all_combinations();

}  // namespace outlast::bench
