// Sets and maps of 64-bit keys under the kill harness.
#pragma once

#include <outlast/pool/pool.hpp>
#include <outlast/root/storable.hpp>
#include <tests/powercut/harness.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace outlast::test::powercut {

/// `Structure` is a lockfree map or set of std::uint64_t, in a pool of its own.
/// Half of the operations add, half remove, over `keys` keys, so that nodes are retired and their
/// memory is used again all the time.
template <class Structure>
class map_subject : public subject {
  using domain_type = typename Structure::policy_type::domain_type;

 public:
  template <class... Options>
  map_subject(const std::filesystem::path& folder, std::uint64_t keys, Options&&... options)
      : keys_(keys),
        pool_(basic_pool<domain_type>::open_or_create((folder / "powercut.pool").string(),
                                                      pool_options_for())),
        structure_(std::in_place, pool_, "subject", std::forward<Options>(options)...) {}

  operation draw(std::uint32_t thread, random_source& random) override {
    constexpr std::uint64_t stride = 8;  // keys of thread t are t, t + 8, ...
    const std::uint64_t key = random() % keys_ * stride + thread;
    switch (random() % 4) {
      case 0: return {insert_if_absent, key, value_for(random())};
      case 1:
        return is_map ? operation{put, key, value_for(random())}
                      : operation{insert_if_absent, key, value_for(random())};
      default: return {erase, key, 0};
    }
  }

  void apply(operation& todo) override {
    if (todo.what == erase) {
      (void)structure_->erase(todo.key);
    } else if constexpr (is_map) {
      if (todo.what == put) {
        (void)structure_->put(todo.key, todo.value);
      } else {
        (void)structure_->insert(todo.key, todo.value);
      }
    } else {
      (void)structure_->insert(todo.key);
    }
  }

  void list(const std::function<void(entry)>& show) override {
    structure_->for_each([&](std::uint64_t key, const value_type& value) {
      if constexpr (is_map)
        show({key, value});
      else
        show({key, 0});
    });
  }

  std::string check() override {
    const std::vector<pool_format::finding> findings = pool_.check();
    if (pool_format::has_errors(findings)) return findings.front().sentence;
    if constexpr (requires { structure_->check(); }) return structure_->check();
    return "";
  }

  void close() override {
    structure_.reset();
    pool_.close();
  }

 private:
  using value_type = typename Structure::mapped_type;
  static constexpr bool is_map = !std::is_same_v<value_type, roots::no_value>;

  static std::uint64_t value_for(std::uint64_t drawn) noexcept { return is_map ? drawn : 0; }
  static pool_options pool_options_for() {
    pool_options options;
    options.size_bytes = std::size_t{64} << 20;
    return options;
  }

  std::uint64_t keys_;
  basic_pool<domain_type> pool_;
  std::optional<Structure> structure_;
};

/// `Structure(pool, name, options...)` with `keys` keys for each thread.
template <class Structure, class... Options>
[[nodiscard]] definition define_map(const std::string& name, std::uint64_t keys,
                                    const Options&... options) {
  using policy = typename Structure::policy_type;
  definition made;
  made.name = name;
  made.open = [=](const std::filesystem::path& folder) {
    return std::make_unique<map_subject<Structure>>(folder, keys, options...);
  };
  made.structure = name;
  made.policy = policy::name() + " on " + std::string(policy::domain_type::name());
  return made;
}

}  // namespace outlast::test::powercut
