// A progress bar on standard error.
#include <apps/progress.hpp>

#include <algorithm>
#include <iostream>

#include <sys/ioctl.h>
#include <unistd.h>

namespace outlast::apps {
namespace {

constexpr std::size_t bar_width = 30;

std::size_t terminal_width() {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

std::string bar_text(std::size_t done, std::size_t steps) {
  const std::size_t filled = done * bar_width / steps;
  return '[' + std::string(filled, '#') + std::string(bar_width - filled, '.') + "] ";
}

}  // namespace

progress::progress(std::size_t steps)
    : steps_(std::max<std::size_t>(steps, 1)), terminal_(::isatty(STDERR_FILENO) == 1) {}

progress::~progress() { clear(); }

void progress::begin(std::string_view part) {
  part_ = part;
  if (terminal_) draw("");
}

void progress::step(std::string_view note) {
  done_ = std::min(done_ + 1, steps_);
  if (terminal_) {
    draw(note);
    return;
  }
  const std::size_t tenths = done_ * 10 / steps_;
  if (tenths == tenths_told_) return;
  tenths_told_ = tenths;
  std::cerr << tenths * 10 << " %  " << part_ << ": " << note << std::endl;
}

void progress::skip_to(std::size_t step) { done_ = std::clamp(step, done_, steps_); }

void progress::clear() {
  if (drawn_) std::cerr << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

void progress::draw(std::string_view note) {
  std::string line = bar_text(done_, steps_) + part_;
  if (!note.empty()) line.append(": ").append(note);
  if (line.size() >= terminal_width()) line.resize(terminal_width() - 1);
  std::cerr << '\r' << line << "\x1b[K" << std::flush;
  drawn_ = true;
}

}  // namespace outlast::apps
