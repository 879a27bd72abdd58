// A subject that is at another address whenever it is opened, like a pool file that another process
// maps at another address. The open must correct the addresses that the subject stores, and crashes
// can interrupt it.
#pragma once

#include <outlast/verify/explorer/subject.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace outlast::verify {

/// Gives the subject another of three places in its memory at each opening: it copies the content
/// durably and then opens the copy. There are three places so that a half-relocated image is moved
/// to a place that no address in it names.
///
/// Thread-safety: used by one thread.
class moving_subject final : public subject {
 public:
  /// `moved` needs memory aligned to a page; it works on domain::simulated.
  moving_subject(std::string name, std::unique_ptr<subject> moved)
      : name_(std::move(name)), moved_(std::move(moved)) {}

  [[nodiscard]] std::string structure() const override { return name_; }
  [[nodiscard]] std::string policy() const override { return moved_->policy(); }
  [[nodiscard]] const oracle& checker() const override { return moved_->checker(); }
  [[nodiscard]] std::size_t memory_bytes() const override;
  [[nodiscard]] std::span<std::byte> volatile_globals() const override {
    return moved_->volatile_globals();
  }
  [[nodiscard]] std::span<std::byte> kept_by_kills() const override {
    return moved_->kept_by_kills();
  }
  void format(std::span<std::byte> memory) override { moved_->format(place(memory, 0)); }
  [[nodiscard]] std::unique_ptr<world> open(std::span<std::byte> memory, bool fresh) override;

 private:
  [[nodiscard]] std::span<std::byte> place(std::span<std::byte> memory, std::size_t number) const;
  /// Returns the present place of the subject.
  [[nodiscard]] std::span<std::byte> move(std::span<std::byte> memory) const;

  std::string name_;
  std::unique_ptr<subject> moved_;
};

}  // namespace outlast::verify
