// A map that is durable two ticks of a clock later [Wen21], in bare memory, with the mistakes that
// its author may make: the reference for the checker of buffered structures.
//
// Each put or erase leaves a payload, one line that bears the label of its epoch; a payload of an
// older epoch is never touched again. The tick from e to e + 1 first writes back what epoch e - 1
// left, then the clock. So the clock e in an image says that the epochs up to e - 2 are complete in
// it; recovery keeps the newest payload of each key among these.
#pragma once

#include "turn.hpp"

#include <outlast/domain/persist.hpp>
#include <outlast/verify/checkers/buffered_oracle.hpp>
#include <outlast/verify/explorer/subject.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace outlast::test {

enum class buffered_defect {
  none,
  clock_before_payloads,            ///< the tick is durable before what it promises
  overflow_drops_a_payload,         ///< the list of what is to be written back forgets
  sync_ticks_once,                  ///< sync returns one epoch early
  close_ticks_once,                 ///< so does close
  label_before_turn,                ///< an operation takes effect in a later epoch than its label's
  recovery_keeps_an_epoch_more,     ///< e - 1 besides e - 2
  recovery_returns_nothing,         ///< as if no epoch had been complete
  recovery_forgets_the_clock,       ///< the same, and the clock begins again: a consistent prefix
  recovery_leaves_what_it_dropped,  ///< it comes back when the clock has passed its label
};

template <buffered_defect Defect>
class toy_buffered final : public verify::world {
  using D = domain::simulated;
  using number = std::atomic<std::uint64_t>;

  struct header {
    number clock;
    number restart;  // the clock that the last recovery set: no older epoch counts but up to `kept`
    number kept;
  };
  struct payload {
    struct content {
      std::uint64_t key;
      std::uint64_t value;
      std::uint64_t present;  // 0: the key was erased
    };
    number label;  // 0: nothing is here
    content held;
    std::uint64_t padding[4];
  };
  static_assert(sizeof(payload) == 64);

 public:
  toy_buffered(std::span<std::byte> memory, bool)
      : header_(reinterpret_cast<header*>(memory.data())),
        payloads_(reinterpret_cast<payload*>(memory.data()) + 1, memory.size() / 64 - 1) {
    recover();
  }

  verify::outcome apply(const verify::call& what) override {
    const std::uint64_t too_early = clock();
    const turn mine(taken_);
    switch (static_cast<verify::epoch_operation>(what.kind)) {
      case verify::epoch_operation::advance: return advance();
      case verify::epoch_operation::sync: return sync();
    }
    return act(what, Defect == buffered_defect::label_before_turn ? too_early : clock());
  }

  verify::abstract_state observe() override {
    verify::abstract_state state{boundary_};
    for (const payload* p : newest_) {
      if (p == nullptr || p->held.present == 0) continue;
      state.insert(state.end(), {p->held.key, p->held.value});
    }
    return state;
  }

  void close() override {
    advance();
    if constexpr (Defect != buffered_defect::close_ticks_once) advance();
  }

 private:
  std::uint64_t clock() const { return D::load(header_->clock, std::memory_order_acquire); }

  verify::outcome act(const verify::call& what, std::uint64_t epoch) {
    const payload* const now = newest_.at(what.key);
    const bool present = now != nullptr && now->held.present != 0;
    switch (static_cast<verify::map_operation>(what.kind)) {
      case verify::map_operation::get: return {present, present ? now->held.value : 0};
      case verify::map_operation::put:
        write({what.key, what.argument, 1}, epoch);
        return {!present, 0, epoch};
      case verify::map_operation::erase:
        if (present) write({what.key, 0, 0}, epoch);
        return {present, 0, present ? epoch : 0};
      default: throw std::logic_error("not offered");
    }
  }

  void write(const typename payload::content& held, std::uint64_t epoch) {
    payload*& now = newest_.at(held.key);
    if (now != nullptr && D::load(now->label, std::memory_order_relaxed) == epoch) {
      D::write(&now->held, &held, sizeof(held));
      return;
    }
    if (used_ == payloads_.size()) throw std::runtime_error("the memory is full");
    payload& fresh = payloads_[used_++];
    D::write(&fresh.held, &held, sizeof(held));
    D::store(fresh.label, epoch, std::memory_order_release);
    now = &fresh;
    if (Defect == buffered_defect::overflow_drops_a_payload) unwritten_.clear();
    unwritten_.push_back(&fresh);
  }

  verify::outcome sync() {
    advance();
    if constexpr (Defect != buffered_defect::sync_ticks_once) advance();
    return {true};
  }

  verify::outcome advance() {
    const std::uint64_t now = clock();
    if constexpr (Defect == buffered_defect::clock_before_payloads) tick(now + 1);
    write_back(now - 1);
    if constexpr (Defect != buffered_defect::clock_before_payloads) tick(now + 1);
    return {true};
  }

  void write_back(std::uint64_t epoch) {
    std::erase_if(unwritten_, [&](const payload* p) {
      if (D::load(p->label, std::memory_order_relaxed) > epoch) return false;
      domain::flush<D>(p, sizeof(*p));
      return true;
    });
    domain::fence<D>();
  }

  void tick(std::uint64_t next) {
    D::store(header_->clock, next, std::memory_order_release);
    domain::persist<D>(&header_->clock, sizeof(header_->clock));
  }

  /// The epoch up to which the image is complete.
  std::uint64_t named_by_the_clock() const {
    const std::uint64_t restart = D::load(header_->restart, std::memory_order_relaxed);
    if (clock() >= restart + 2) return clock() - 2;
    return D::load(header_->kept, std::memory_order_relaxed);
  }

  std::uint64_t last_kept() const {
    if constexpr (Defect == buffered_defect::recovery_keeps_an_epoch_more) return boundary_ + 1;
    if constexpr (Defect == buffered_defect::recovery_returns_nothing) return 0;
    return boundary_;
  }

  void recover() {
    constexpr bool forgets = Defect == buffered_defect::recovery_forgets_the_clock;
    boundary_ = forgets ? 0 : named_by_the_clock();
    for (payload& p : payloads_) {
      const std::uint64_t label = D::load(p.label, std::memory_order_relaxed);
      if (label == 0) continue;
      used_ = static_cast<std::size_t>(&p - payloads_.data()) + 1;
      if (label <= last_kept()) {
        keep(p, label);
      } else {
        drop(p);
      }
    }
    domain::fence<D>();
    set_clock(forgets ? 1 : clock() + 1);
  }

  void keep(payload& p, std::uint64_t label) {
    payload*& known = newest_.at(p.held.key);
    if (known == nullptr || D::load(known->label, std::memory_order_relaxed) < label) known = &p;
  }

  void drop(payload& p) {
    if constexpr (Defect == buffered_defect::recovery_leaves_what_it_dropped) return;
    D::store(p.label, 0, std::memory_order_release);
    domain::flush<D>(&p.label, sizeof(p.label));
  }

  /// What was dropped is durably gone by now. Each of the three words goes to the media no earlier
  /// than the one before it, so `named_by_the_clock` says the same at every moment.
  void set_clock(std::uint64_t next) {
    D::store(header_->kept, boundary_, std::memory_order_relaxed);
    D::store(header_->restart, next, std::memory_order_release);
    D::store(header_->clock, next, std::memory_order_release);
    domain::persist<D>(header_, sizeof(*header_));
  }

  header* header_;
  std::span<payload> payloads_;
  std::uint64_t boundary_ = 0;
  std::size_t used_ = 0;
  bool taken_ = false;
  std::array<payload*, 8> newest_{};
  std::vector<payload*> unwritten_;
};

template <buffered_defect Defect>
[[nodiscard]] verify::bare_subject<toy_buffered<Defect>> buffered_subject(
    verify::checker_rules rules = {}) {
  using enum verify::map_operation;
  auto map = std::make_shared<verify::map_oracle>(
      std::vector<verify::map_operation>{put, put, erase, get}, true);
  // Nothing begins in an epoch whose tick is not durable: the lag is 2.
  return {"toy_buffered", "hand-written",
          std::make_shared<verify::buffered_oracle>(std::move(map), 2, rules), 4096};
}

}  // namespace outlast::test
