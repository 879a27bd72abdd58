// What is done with pools: creation, opening, growth, checkpoints, closing.
#include <tests/files/operation.hpp>

#include <outlast/base/error.hpp>
#include <outlast/domain.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/pool.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <sys/stat.h>

namespace outlast::test::files {
namespace {

namespace fs = std::filesystem;

enum class task {
  create,
  create_by_name,
  open_clean,
  open_dirty,
  grow,
  checkpoint,
  close,
  drop,
  trim,
  close_after_drop
};

constexpr std::size_t small_size = std::size_t{1} << 20;
constexpr std::size_t grown_size = std::size_t{2} << 20;
constexpr std::uint32_t dropped_pages = 100;  // enough to be given back to the file system
constexpr std::size_t dropped_bytes = dropped_pages * pool_format::page_bytes;
constexpr int dropped_content = 7;

pool_options sizes() {
  pool_options wanted;
  wanted.size_bytes = small_size;
  wanted.capacity_bytes = std::size_t{4} << 20;
  wanted.log_bytes = std::size_t{64} << 10;
  wanted.file_mode = 0600;
  return wanted;
}

/// A pool and two words in it.
template <class D>
class two_words {
 public:
  /// `make` returns the pool; `is_made`: it has.
  template <class Make>
  two_words(Make&& make, bool& is_made) : pool_(make()) {
    is_made = true;
    const attached_root root = pool_.attach_root("words", "two words of a test", 1, true);
    index_ = root.index;
    if (root.state != root_state::fresh) {
      words_ = reinterpret_cast<std::uint64_t*>(pool_.base() + root.object_offset);
      return;
    }
    words_ = static_cast<std::uint64_t*>(
        pool_.pages().allocate_run(pool_format::run_kind::large, index_, 1, 1, 4096));
    write(0, 0);
    write(1, 0);
    pool_.publish_root(index_, words_);
  }

  [[nodiscard]] basic_pool<D>& pool() { return pool_; }
  [[nodiscard]] std::uint64_t read(unsigned which) const { return words_[which]; }
  /// Durable at return.
  void write(unsigned which, std::uint64_t value) {
    D::write(words_ + which, &value, sizeof value);
    domain::persist<D>(words_ + which, sizeof value);
  }
  void close() {
    pool_.detach_root(index_, true);
    pool_.close();
  }

  // Another root, of many pages.

  void add_many() {
    const attached_root root = pool_.attach_root("many", "pages of a test", 2, true);
    auto* const pages = static_cast<std::byte*>(pool_.pages().allocate_run(
        pool_format::run_kind::large, root.index, 1, dropped_pages, dropped_bytes));
    const std::vector<std::byte> content(dropped_bytes, std::byte{dropped_content});
    D::write(pages, content.data(), dropped_bytes);
    domain::persist<D>(pages, dropped_bytes);
    pool_.publish_root(root.index, pages);
    pool_.detach_root(root.index, false);
  }
  [[nodiscard]] bool has_many() const {
    const auto all = pool_.roots();
    return std::any_of(all.begin(), all.end(),
                       [](const auto& each) { return each.name == "many"; });
  }
  void drop_many() {
    if (has_many()) pool_.drop_root("many");
  }
  [[nodiscard]] bool is_many_whole() {
    const attached_root root = pool_.attach_root("many", "pages of a test", 2, true);
    const auto* const at = reinterpret_cast<const std::byte*>(pool_.base() + root.object_offset);
    pool_.detach_root(root.index, false);
    return std::all_of(at, at + dropped_bytes,
                       [](std::byte each) { return each == std::byte{dropped_content}; });
  }

 private:
  basic_pool<D> pool_;
  std::uint64_t* words_ = nullptr;
  std::uint32_t index_ = 0;
};

template <class D>
class pool_operation final : public operation {
 public:
  explicit pool_operation(task what) : what_(what) {}

  [[nodiscard]] std::string name() const override {
    const std::string of = " of " + std::string(D::name());
    switch (what_) {
      case task::create: return "create a pool" + of;
      case task::create_by_name: return "create a pool" + of + " where files have names";
      case task::open_clean: return "open a pool" + of;
      case task::open_dirty: return "open a pool" + of + " after a kill";
      case task::grow: return "grow a pool" + of;
      case task::checkpoint: return "make a checkpoint of a pool" + of;
      case task::close: return "close a pool" + of;
      case task::drop: return "drop a root of a pool" + of;
      case task::trim: return "trim a pool" + of + " of which a root was dropped";
      case task::close_after_drop: return "close a pool" + of + " of which a root was dropped";
    }
    return {};
  }

  [[nodiscard]] bool holds_its_files() const override { return !is_new() && !is_opening(); }

  void prepare(const std::string& root) override {
    put_foreign_file(root + "/notes");
    if (is_new()) return;
    create(root);
    held_->write(0, 1);
    if (is_drop()) held_->add_many();
    if (what_ == task::open_dirty) {
      static_cast<void>(held_.release());  // its process ends with it
    } else {
      held_->close();
    }
  }

  void begin(const std::string& root) override {
    pool_detail::test_hooks().no_unnamed_files = what_ == task::create_by_name;
    if (is_new() || is_opening()) return;
    open(root);
    held_->write(1, 2);
    if (drops_before()) held_->drop_many();
  }

  std::string run(const std::string& root) override {
    return text_of([&] {
      switch (what_) {
        case task::create:
        case task::create_by_name:
          create(root);
          write_both();
          break;
        case task::open_clean:
        case task::open_dirty:
          open(root);
          held_->write(1, 2);
          break;
        case task::grow: held_->pool().grow(grown_size); break;
        case task::checkpoint: checkpoint(); break;
        case task::close:
        case task::close_after_drop: held_->close(); break;
        case task::drop: held_->drop_many(); break;
        case task::trim: held_->pool().trim(); break;
      }
    });
  }

  std::string run_again(const std::string& root) override {
    held_.reset();
    if (is_new() && !is_made_) {
      if (fs::exists(file_in(root))) return "the creation that failed has left a pool";
      return run(root);
    }
    if (is_opening()) return run(root);
    const std::string failed = text_of([&] { open(root); });
    if (!failed.empty()) return failed;
    if (!is_new()) return run(root);
    return text_of([&] { write_both(); });
  }

  void end() override { held_.reset(); }

  std::string check(const std::string& root, const end_of_incarnation& before) override {
    std::string wrong = check_privacy(root, "p");
    const bool is_there = fs::exists(file_in(root));
    if (wrong.empty() && !is_there && (!is_new() || before.acknowledged))
      wrong = "the pool is gone";
    if (wrong.empty() && before.power_cut) pool_detail::test_hooks().boot.emplace().fill(7);
    for (int incarnation = 0; wrong.empty() && incarnation < 2; ++incarnation) {
      std::string found;
      const std::string thrown =
          text_of([&] { found = check_content(root, before, incarnation == 0); });
      wrong = thrown.empty() ? found : thrown;
    }
    if (wrong.empty()) wrong = check_names(root, {"notes", "p"}, unfinished(root));
    return wrong.empty() ? check_foreign_file(root + "/notes") : wrong;
  }

 private:
  [[nodiscard]] static std::string file_in(const std::string& root) { return root + "/p"; }
  [[nodiscard]] bool is_new() const {
    return what_ == task::create || what_ == task::create_by_name;
  }
  [[nodiscard]] bool drops_before() const {
    return what_ == task::trim || what_ == task::close_after_drop;
  }
  [[nodiscard]] bool is_drop() const { return what_ == task::drop || drops_before(); }
  [[nodiscard]] bool is_opening() const {
    return what_ == task::open_clean || what_ == task::open_dirty;
  }

  /// Where a file has a name before it is complete, a kill leaves it: no later call can tell it
  /// from that of a creation that is under way.
  [[nodiscard]] std::vector<std::string> unfinished(const std::string& root) const {
    std::vector<std::string> all;
    if (what_ != task::create_by_name) return all;
    for (const std::string& each : names_in(root)) {
      if (each.starts_with(".p.") && each.ends_with(".new")) all.push_back(each);
    }
    return all;
  }

  template <class Body>
  [[nodiscard]] static std::string text_of(Body&& body) {
    try {
      body();
    } catch (const std::exception& failure) {
      return failure.what();
    }
    return {};
  }

  void create(const std::string& root) {
    held_ = std::make_unique<two_words<D>>(
        [&] { return basic_pool<D>::create(file_in(root), sizes()); }, is_made_);
  }
  void write_both() {
    held_->write(0, 1);
    held_->write(1, 2);
  }
  void open(const std::string& root) {
    held_ = std::make_unique<two_words<D>>(
        [&] { return basic_pool<D>::open(file_in(root), sizes()); }, is_made_);
  }

  void checkpoint() {
    if constexpr (domain::logs_lines<D>) {
      D::checkpoint(reinterpret_cast<const void*>(held_->pool().base()));
    }
  }

  /// As the next process opens it. A pool that survives processes alone may be torn by a power cut,
  /// and says so.
  void open_again(const std::string& root, const end_of_incarnation& before) {
    try {
      held_ = std::make_unique<two_words<D>>(
          [&] {
            return is_new() ? basic_pool<D>::open_or_create(file_in(root), sizes())
                            : basic_pool<D>::open(file_in(root), sizes());
          },
          is_made_);
      return;
    } catch (const error& failure) {
      is_torn_ = before.power_cut && std::is_same_v<D, domain::process> &&
                 failure.reason() == errc::torn_by_machine_crash;
      if (!is_torn_) throw;
    }
    pool_options salvaging = sizes();
    salvaging.salvage = true;
    held_ = std::make_unique<two_words<D>>(
        [&] { return basic_pool<D>::open(file_in(root), salvaging); }, is_made_);
  }

  [[nodiscard]] std::string check_content(const std::string& root, const end_of_incarnation& before,
                                          bool is_first) {
    open_again(root, before);
    two_words<D>& found = *held_;
    if (!is_first && found.pool().was_dirty()) return "the pool that was closed is not clean";
    if (!is_torn_ && (!is_new() || before.acknowledged) && found.read(0) != 1) {
      return "the word that was written before is gone";
    }
    const bool was_written = before.acknowledged || !(is_new() || is_opening());
    if (!is_torn_ && found.read(1) != 2 && (was_written || found.read(1) != 0)) {
      return "the word that was acknowledged is gone";
    }
    if (!is_torn_ && is_drop() && found.has_many()) {
      if (before.acknowledged || drops_before()) return "a dropped root is back";
      if (!found.is_many_whole()) return "a root has lost pages before it was dropped";
    }
    // A close cuts the free end off.
    if (what_ == task::grow && is_first && before.acknowledged &&
        found.pool().size_bytes() != grown_size) {
      return "the pool has the size that it had before it grew";
    }
    found.close();
    held_.reset();
    return {};
  }

  task what_;
  bool is_torn_ = false;
  bool is_made_ = false;
  std::unique_ptr<two_words<D>> held_;
};

template <class D>
void add_all(operations& to) {
  for (const task each :
       {task::create, task::create_by_name, task::open_clean, task::open_dirty, task::grow,
        task::checkpoint, task::close, task::drop, task::trim, task::close_after_drop}) {
    if (each == task::checkpoint && !domain::logs_lines<D>) continue;
    to.push_back(std::make_unique<pool_operation<D>>(each));
  }
}

}  // namespace

operations pool_operations() {
  operations all;
  add_all<domain::process>(all);
  add_all<domain::file>(all);
  add_all<domain::logged_file>(all);
  return all;
}

}  // namespace outlast::test::files
