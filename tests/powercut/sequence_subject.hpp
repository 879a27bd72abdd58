// Stacks and queues of 64-bit values under the kill harness.
#pragma once

#include <outlast/pool/pool.hpp>
#include <tests/powercut/harness.hpp>
#include <tests/powercut/sequence_checker.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace outlast::test::powercut {

/// `Structure` is a stack or queue of values that are made from a std::uint64_t and turn into one,
/// in a pool of its own. Half of the operations push, half pop, so it is empty again and again.
template <class Structure>
class sequence_subject : public subject {
  using domain_type = typename Structure::policy_type::domain_type;
  using value_type = typename Structure::value_type;

 public:
  explicit sequence_subject(const std::filesystem::path& folder)
      : pool_(basic_pool<domain_type>::open_or_create((folder / "powercut.pool").string(),
                                                      pool_options_for())),
        structure_(std::in_place, pool_, "subject"),
        serial_(std::chrono::system_clock::now().time_since_epoch() /
                std::chrono::nanoseconds(16)) {}

  operation draw(std::uint32_t thread, random_source& random) override {
    if (random() % 2 == 0) return {pop, 0, 0};
    return {push, 0, value_of_thread(thread, serial_.fetch_add(1))};
  }

  void apply(operation& todo) override {
    if (todo.what == push) {
      structure_->push(value_type(todo.value));
    } else if (const std::optional<value_type> taken = structure_->pop()) {
      todo.key = 1;
      todo.value = *taken;
    }
  }

  void list(const std::function<void(entry)>& show) override {
    structure_->for_each([&](const value_type& value) { show({value, 0}); });
  }

  std::string check() override {
    const std::vector<pool_format::finding> findings = pool_.check();
    return pool_format::has_errors(findings) ? findings.front().sentence : "";
  }

  void close() override {
    structure_.reset();
    pool_.close();
  }

 private:
  static pool_options pool_options_for() {
    pool_options options;
    options.size_bytes = std::size_t{64} << 20;
    return options;
  }

  basic_pool<domain_type> pool_;
  std::optional<Structure> structure_;
  std::atomic<std::uint64_t> serial_;  // larger in each later process: far fewer pushes than time
};

template <class Structure>
[[nodiscard]] definition define_sequence(const std::string& name, sequence_order order) {
  using policy = typename Structure::policy_type;
  definition made;
  made.name = name;
  made.open = [](const std::filesystem::path& folder) {
    return std::make_unique<sequence_subject<Structure>>(folder);
  };
  made.make_checker = [order] { return std::make_unique<sequence_checker>(order); };
  made.structure = name;
  made.policy = policy::name() + " on " + std::string(policy::domain_type::name());
  return made;
}

}  // namespace outlast::test::powercut
