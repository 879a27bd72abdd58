// The progress bar of commands on stores.
#include <apps/db/meter.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

namespace outlast::apps::db {

void meter::advance(std::uint64_t done, std::uint64_t all) {
  using namespace std::chrono_literals;
  if (all == 0) return;
  if (!bar_) {
    if (std::chrono::steady_clock::now() - begun_ < 1s) return;
    bar_.emplace(steps);
    bar_->begin(part_);
  }
  const double part = std::min(1.0, static_cast<double>(done) / static_cast<double>(all));
  const auto step = static_cast<std::uint64_t>(part * steps);
  if (step <= shown_) return;
  shown_ = step;
  bar_->skip_to(step - 1);
  bar_->step(std::to_string(done) + " of about " + std::to_string(all) + " " + unit_);
}

}  // namespace outlast::apps::db
