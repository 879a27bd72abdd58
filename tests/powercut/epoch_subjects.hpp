// Buffered structures under the kill harness.
#pragma once

#include <outlast/epoch/clock.hpp>
#include <outlast/pool/pool.hpp>
#include <tests/powercut/epoch_checkers.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace outlast::test::powercut {

/// What maps and queues have in common: a pool whose epochs are short, and syncs now and then.
template <class Structure>
class buffered_subject : public subject {
 protected:
  using domain_type = typename Structure::policy_type::domain_type;

 public:
  explicit buffered_subject(const std::filesystem::path& folder)
      : pool_(basic_pool<domain_type>::open_or_create((folder / "powercut.pool").string(),
                                                      pool_options_for())),
        clock_(epoch::clock_of(pool_)) {
    epoch::clock_options often;
    often.epoch_length = std::chrono::milliseconds(1);
    clock_.configure(often);
    structure_.emplace(pool_, "subject");
  }

  operation draw(std::uint32_t thread, random_source& random) final {
    constexpr std::uint64_t between_syncs = 500;
    if (random() % between_syncs == 0) return {sync_epochs, 0, 0};
    return draw_change(thread, random);
  }

  void apply(operation& todo) final {
    if (todo.what == sync_epochs) {
      todo.value = clock_.now();
      sync();
    } else {
      change(todo);
      todo.what = with_epoch(todo.what, clock_.take_last_epoch());
    }
  }

  std::string check() override {
    const std::vector<pool_format::finding> findings = pool_.check();
    return pool_format::has_errors(findings) ? findings.front().sentence : "";
  }

  void close() override {
    structure_.reset();
    pool_.close();
  }

 protected:
  [[nodiscard]] virtual operation draw_change(std::uint32_t thread, random_source& random) = 0;
  virtual void change(operation& todo) = 0;
  virtual void sync() { structure_->sync(); }

  [[nodiscard]] Structure& structure() { return *structure_; }

 private:
  static pool_options pool_options_for() {
    pool_options options;
    options.size_bytes = std::size_t{64} << 20;
    return options;
  }

  basic_pool<domain_type> pool_;
  epoch::clock<domain_type>& clock_;
  std::optional<Structure> structure_;
};

/// Numbers as they are, or as strings of many lengths that begin with them.
template <class T>
[[nodiscard]] T spelled(std::uint64_t number) {
  if constexpr (std::is_same_v<T, std::string>) {
    std::string text = std::to_string(number) + ' ';
    text.resize(text.size() + number % 800, 'x');
    return text;
  } else {
    return number;
  }
}
[[nodiscard]] inline std::uint64_t read_back(std::uint64_t number) { return number; }
[[nodiscard]] inline std::uint64_t read_back(std::string_view text) {
  const std::uint64_t number = std::stoull(std::string(text.substr(0, text.find(' '))));
  return spelled<std::string>(number) == text ? number : ~number;
}

/// `Map`: of numbers or strings.
template <class Map>
class buffered_map_subject : public buffered_subject<Map> {
  using key = typename Map::key_type;
  using value = typename Map::mapped_type;
  static constexpr std::uint64_t keys = 2'000;  // of each thread

 public:
  using buffered_subject<Map>::buffered_subject;

  void list(const std::function<void(entry)>& show) override {
    this->structure().for_each(
        [&](const auto& name, const auto& now) { show({read_back(name), read_back(now)}); });
  }

 protected:
  operation draw_change(std::uint32_t thread, random_source& random) override {
    constexpr std::uint64_t stride = 8;  // keys of thread t are t, t + 8, ...
    const std::uint64_t drawn = random() % keys * stride + thread;
    switch (random() % 4) {
      case 0: return {insert_if_absent, drawn, random()};
      case 1: return {put, drawn, random()};
      default: return {erase, drawn, 0};
    }
  }

  void change(operation& todo) override {
    Map& map = this->structure();
    switch (todo.what) {
      case insert_if_absent:
        (void)map.insert(spelled<key>(todo.key), spelled<value>(todo.value));
        break;
      case put: (void)map.put(spelled<key>(todo.key), spelled<value>(todo.value)); break;
      default: (void)map.erase(spelled<key>(todo.key)); break;
    }
  }
};

/// `Queue`: a queue or a stack, of numbers or strings.
template <class Queue>
class buffered_queue_subject : public buffered_subject<Queue> {
  using value = typename Queue::value_type;

 public:
  explicit buffered_queue_subject(const std::filesystem::path& folder)
      : buffered_subject<Queue>(folder),
        serial_(std::chrono::system_clock::now().time_since_epoch() /
                std::chrono::nanoseconds(16)) {}

  void list(const std::function<void(entry)>& show) override {
    this->structure().for_each([&](const auto& each) { show({read_back(each), 0}); });
  }

 protected:
  operation draw_change(std::uint32_t thread, random_source& random) override {
    if (random() % 2 == 0) return {pop, 0, 0};
    return {push, 0, value_of_thread(thread, serial_.fetch_add(1))};
  }

  void change(operation& todo) override {
    if (todo.what == push) {
      this->structure().push(spelled<value>(todo.value));
    } else if (const std::optional<value> taken = this->structure().pop()) {
      todo.key = 1;
      todo.value = read_back(*taken);
    }
  }

 private:
  std::atomic<std::uint64_t> serial_;  // larger in each later process: far fewer pushes than time
};

template <class Subject, class Checker>
[[nodiscard]] definition define_buffered(const std::string& name, std::string_view domain) {
  definition made;
  made.name = name;
  made.open = [](const std::filesystem::path& folder) { return std::make_unique<Subject>(folder); };
  made.make_checker = [] { return std::make_unique<Checker>(); };
  made.structure = name;
  made.policy = "montage on " + std::string(domain);
  return made;
}

}  // namespace outlast::test::powercut
