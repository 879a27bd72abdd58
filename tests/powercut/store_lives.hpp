// A store of records on a lossy disk whose process is killed between operations. The index outlives
// the process, and a power cut takes it.
#pragma once

#include <outlast/domain/backoff.hpp>
#include <outlast/verify/explorer/subject.hpp>
#include <outlast/verify/machine/lossy_file.hpp>
#include <tests/support/memory_region.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace outlast::test::powercut {

/// Opens a `World` several times: each few operations it ends without being closed, as by a kill,
/// and the next one uses the index that it has left.
template <class World>
class world_of_lives final : public verify::world {
 public:
  using region = store_detail::records::memory_region;
  using opener = std::function<std::unique_ptr<World>(const std::shared_ptr<region>&)>;

  explicit world_of_lives(opener open) : open_(std::move(open)), now_(open_(index_)) {
    if constexpr (requires(World& in) { in.found(); }) found_ = now_->found();
  }

  verify::outcome apply(const verify::call& what) override {
    domain::backoff<domain::lossy_file> waiting;
    while (is_opening_) waiting.wait();
    if (running_ == 0 && ++operations_ % operations_of_a_life == 0) start_a_life();
    const running_scope scope(running_);
    return now_->apply(what);
  }
  verify::abstract_state observe() override {
    verify::abstract_state state = now_->observe();
    // What the power cut before the first life has left.
    if constexpr (requires(World& in) { in.found(); }) state[0] = found_;
    return state;
  }
  std::string check(bool directly_after_opening) override {
    if (lives_without_index_ != 0) return "a life has not used the index of the one before it";
    return now_->check(directly_after_opening && lives_ == 1);
  }
  void close() override { now_->close(); }

 private:
  static constexpr unsigned operations_of_a_life = 3;
  struct running_scope {
    explicit running_scope(unsigned& operations) : count(operations) { ++count; }
    ~running_scope() { --count; }
    running_scope(const running_scope&) = delete;
    running_scope& operator=(const running_scope&) = delete;
    unsigned& count;
  };

  void start_a_life() {
    is_opening_ = true;
    now_.reset();
    now_ = open_(index_);
    ++lives_;
    if (!now_->index_was_kept()) ++lives_without_index_;
    is_opening_ = false;
  }

  opener open_;
  std::shared_ptr<region> index_ = std::make_shared<region>();
  std::unique_ptr<World> now_;
  std::uint64_t found_ = 0;
  unsigned running_ = 0;  ///< operations
  unsigned operations_ = 0;
  unsigned lives_ = 1;
  unsigned lives_without_index_ = 0;
  bool is_opening_ = false;
};

}  // namespace outlast::test::powercut
