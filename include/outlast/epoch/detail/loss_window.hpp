// The time that a crash may remove from buffered structures, in words.
#pragma once

#include <outlast/epoch/options.hpp>

#include <chrono>
#include <string>

namespace outlast::epoch::detail {

/// Returns the longest time that a crash can remove. The clock on the media lags by `epochs`, and
/// by one more during a sync that ends two together. `length` is that of an epoch, 0 if only tick()
/// and sync() move the clock.
[[nodiscard]] inline std::string loss_window(unsigned epochs, bool sync_ends_two,
                                             std::chrono::microseconds length, write_back writes) {
  if (writes == write_back::none) {
    return "Nothing is written back, as for a baseline: a crash of the machine may lose everything "
           "since the structures were attached.";
  }
  std::string text =
      "A crash, of the process or of what the pool survives, loses at most the last " +
      std::to_string(epochs) + " epochs" +
      (sync_ends_two ? " (" + std::to_string(epochs + 1) + " while a sync() runs)" : "") +
      ", whole, and nothing that sync() has covered: ";
  if (length.count() == 0) return text + "epochs end when tick() or sync() is called.";
  const auto in_ms = [](std::chrono::microseconds time) {
    std::string digits = std::to_string(time.count() / 1000);
    if (const auto rest = time.count() % 1000; rest != 0) {
      std::string three = std::to_string(1000 + rest).substr(1);
      three.erase(three.find_last_not_of('0') + 1);
      digits += "." + three;
    }
    return digits + " ms";
  };
  return text + "epochs of " + in_ms(length) + ", so " + in_ms(epochs * length) +
         " and the time that writing them back takes.";
}

}  // namespace outlast::epoch::detail
