#include <tests/powercut/power_cuts.hpp>

#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/format.hpp>
#include <outlast/verify/machine/lossy_file.hpp>
#include <tests/powercut/workers.hpp>
#include <tests/support/memory_folder.hpp>

#include <array>
#include <exception>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

namespace outlast::test::powercut {
namespace {

using verify::abstract_state;
using verify::disk_image;
using verify::history;

// Frequencies: once in so many.
constexpr std::uint64_t switches_at_fences = 2;      // fences
constexpr std::uint64_t freezes = 25;                // fences, in an incarnation
constexpr std::uint64_t recovery_freezes = 5;        // fences, in a recovery that is to be cut off
constexpr std::uint64_t response_freezes = 20;       // operations, when they have returned
constexpr std::uint64_t odd_freezes = 1'000;         // accesses
constexpr std::uint64_t write_backs = 16;            // fences
constexpr std::uint64_t odd_write_backs = 200;       // accesses
constexpr std::uint64_t recovery_step_freezes = 25;  // the same, in a recovery
constexpr std::uint64_t step_freezes = 40;  // writes and syncs of a log's domain, in an incarnation
constexpr std::uint64_t cut_recoveries = 6;  // images
constexpr std::uint64_t closings = 2;        // incarnations
constexpr std::uint64_t growths = 8;         // incarnations
constexpr std::size_t max_cut_points = 32;   // kept of one incarnation
constexpr unsigned images_per_cut_point = 4;
constexpr unsigned deepest = 2;  // a recovery of what a cut recovery left is cut too, not further

/// A moment at which power might have been cut.
struct cut_point {
  verify::frozen_disk disk;
  abstract_state before;
  history seen;
};

/// The cut points of one incarnation. The next one reuses their memory.
class album {
 public:
  void clear() noexcept { used_ = 0; }
  [[nodiscard]] bool full() const noexcept { return used_ == max_cut_points; }
  cut_point& add() {
    if (used_ == cut_points_.size()) cut_points_.emplace_back();
    return cut_points_[used_++];
  }
  [[nodiscard]] const cut_point* begin() const noexcept { return cut_points_.data(); }
  [[nodiscard]] const cut_point* end() const noexcept { return cut_points_.data() + used_; }

 private:
  std::vector<cut_point> cut_points_;
  std::size_t used_ = 0;
};

std::string text_of(const verify::oracle& checker, const history& seen) {
  std::string text;
  for (const verify::event& each : seen.events()) {
    text += "\n  thread " + std::to_string(each.thread) + ": " + checker.describe(each.what);
    if (each.pending()) {
      text += " pending";
    } else {
      text += each.result.ok ? " yes " : " no ";
      text += std::to_string(each.result.value);
    }
    text += " at " + std::to_string(each.invoked);
    if (!each.pending()) text += " to " + std::to_string(each.responded);
    if (each.result.stamp != 0) text += " in epoch " + std::to_string(each.result.stamp);
  }
  return text;
}

class cutter final : public verify::file_observer {
 public:
  cutter(file_subject& subject, const cut_plan& how)
      : subject_(subject),
        how_(how),
        choices_(how.seed),
        workers_(how.threads, choices_),
        path_((folder_.path() / "pool").string()) {
    subject_.create(path_);
    disk_.emplace(path_);
    disk_->faults = how.faults;
    disk_->before_step = [this] { at_step(); };
    next_image_ = disk_->freeze().durable;
  }

  cut_result run() {
    const watched_scope scope(*this);
    try {
      while (result_.images < how_.images) run_incarnation();
    } catch (const std::exception& failure) {
      result_.complaint = failure.what();
    }
    return result_;
  }

 private:
  /// Watches the domain, and makes opening a file cheap.
  struct watched_scope {
    explicit watched_scope(cutter& self) {
      verify::file_observer::replace(&self);
      pool_detail::test_hooks().boot = pool_format::boot_id{1};
    }
    ~watched_scope() {
      verify::file_observer::replace(nullptr);
      pool_detail::test_hooks().boot.reset();
    }
    watched_scope(const watched_scope&) = delete;
    watched_scope& operator=(const watched_scope&) = delete;
  };

  // ---- what happens under the domain ----

  void at_fence() override {
    ++result_.fences;
    if (freeze_one_in_ == 0) return;
    if (choices_.one_in(freeze_one_in_)) freeze();
    if (choices_.one_in(write_backs)) disk_->write_back_something(choices_);
    if (choices_.one_in(switches_at_fences)) workers_.yield();
  }

  void at_access() override {
    if (freeze_one_in_ == 0) return;
    if (choices_.one_in(odd_write_backs)) disk_->write_back_something(choices_);
    if (choices_.one_in(odd_freezes)) freeze();
    if (choices_.one_in(switches_)) workers_.yield();
  }

  void at_wait() override { workers_.yield(); }

  /// Inside of a fence: no thread may go on here.
  void at_step() {
    if (freeze_one_in_ == 0) return;
    const std::uint64_t one_in = freeze_one_in_ == freezes ? step_freezes : recovery_step_freezes;
    if (choices_.one_in(one_in)) freeze();
    if (choices_.one_in(write_backs)) disk_->write_back_something(choices_);
  }

  void freeze() {
    if (!album_->full()) freeze_last();
  }

  /// Keeps the end of an incarnation, always.
  void freeze_last() {
    cut_point& now = album_->add();
    disk_->freeze(now.disk);
    now.before = before_;
    now.seen = seen_;
  }

  // ---- an incarnation ----

  void run_incarnation() {
    ++result_.incarnations;
    disk_->restore(next_image_);
    switches_ = std::uint64_t{4} << 2 * choices_.below(3);  // hectic, busy, or calm
    begin(albums_[0], next_state_, {}, freezes);
    {
      const bool grow = choices_.one_in(growths);
      const std::unique_ptr<verify::world> world = subject_.open(path_, grow);
      workers_.run([&](unsigned thread) { work(*world, thread); });
      check_state(*world, before_, seen_, false);
      if (choices_.one_in(closings)) close(*world);
    }
    freeze_one_in_ = 0;
    freeze_last();
    for (const cut_point& each : albums_[0]) check_images(each, 0);
  }

  void work(verify::world& world, unsigned thread) {
    const verify::scope within{how_.threads, how_.operations, how_.keys, 0};
    for (unsigned i = 0; i < how_.operations; ++i) {
      const verify::call what = subject_.checker().draw(choices_, within, ++serial_);
      const std::size_t number = seen_.invoke(thread, what);
      seen_.respond(number, world.apply(what));
      ++result_.acknowledged;
      if (choices_.one_in(response_freezes)) freeze();
    }
  }

  void close(verify::world& world) {
    disk_->faults.postpones_all_but_header = how_.closes_mark_first;
    const std::optional<verify::call> meaning = subject_.checker().closing();
    const std::size_t number = meaning ? seen_.invoke(0, *meaning) : 0;
    world.close();
    if (meaning) seen_.respond(number, {true});
    disk_->faults.postpones_all_but_header = false;
  }

  void begin(album& into, const abstract_state& before, const history& seen,
             std::uint64_t freeze_one_in) {
    album_ = &into;
    album_->clear();
    before_ = before;
    seen_ = seen;
    freeze_one_in_ = freeze_one_in;
  }

  // ---- what is left of it ----

  void check_images(const cut_point& last, unsigned depth) {
    std::set<std::uint64_t> tried;
    disk_image& found = images_[depth];
    for (unsigned i = 0; i < images_per_cut_point; ++i) {
      last.disk.cut(choices_, found);
      if (tried.insert(checksum_of(found)).second) check_image(found, last, depth);
    }
  }

  [[nodiscard]] static std::uint64_t checksum_of(const disk_image& image) {
    return pool_format::checksum_of(image.pool.data(), image.pool.size()) ^
           pool_format::check_word(pool_format::checksum_of(image.log.data(), image.log.size()));
  }

  void check_image(const disk_image& found, const cut_point& last, unsigned depth) {
    ++result_.images;
    if (depth > 0) ++result_.nested;
    const bool cut_again = depth < deepest && choices_.one_in(cut_recoveries);
    disk_->restore(found);
    begin(albums_[depth + 1], last.before, last.seen, cut_again ? recovery_freezes : 0);
    std::unique_ptr<verify::world> world = subject_.open(path_, false);
    freeze_one_in_ = 0;
    abstract_state state = check_state(*world, last.before, last.seen, true);
    world.reset();
    for (const cut_point& each : albums_[depth + 1]) check_images(each, depth + 1);
    next_image_ = found;
    next_state_ = std::move(state);
  }

  abstract_state check_state(verify::world& world, const abstract_state& before,
                             const history& seen, bool directly_after_opening) {
    abstract_state state = world.observe();
    const verify::oracle& checker = subject_.checker();
    const bool explained = directly_after_opening
                               ? checker.explains_after_crash(before, seen, state)
                               : checker.explains(before, seen, state);
    if (!explained) {
      throw std::runtime_error((directly_after_opening ? "after a cut, found " : "found ") +
                               subject_.checker().describe(state) + " where there was " +
                               subject_.checker().describe(before) + " and then" +
                               text_of(subject_.checker(), seen));
    }
    const std::string wrong = world.check(directly_after_opening);
    if (!wrong.empty()) throw std::runtime_error(wrong);
    return state;
  }

  file_subject& subject_;
  cut_plan how_;
  verify::random choices_;
  workers workers_;
  scratch_folder folder_;
  std::string path_;
  std::optional<verify::lossy_disk> disk_;
  std::uint64_t serial_ = 0;
  std::uint64_t switches_ = 1;       // accesses
  std::uint64_t freeze_one_in_ = 0;  // 0: power stays on
  abstract_state before_;
  history seen_;
  std::array<album, deepest + 2> albums_;       // by depth
  std::array<disk_image, deepest + 1> images_;  // by depth
  album* album_ = nullptr;
  disk_image next_image_;
  abstract_state next_state_;
  cut_result result_;
};

}  // namespace

cut_result cut_power_again_and_again(file_subject& subject, const cut_plan& how) {
  return cutter(subject, how).run();
}

}  // namespace outlast::test::powercut
