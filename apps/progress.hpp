// A progress bar for long commands.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace outlast::apps {

/// A bar that redraws its line on a terminal. Without a terminal it prints a line at each tenth. It
/// writes to standard error, so that standard output contains only results. Not thread-safe.
class progress {
 public:
  explicit progress(std::size_t steps);
  ~progress();
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  /// Sets the name of the next steps.
  void begin(std::string_view part);
  /// Counts one step. `note` is shown with it.
  void step(std::string_view note);
  /// Counts steps that are left out.
  void skip_to(std::size_t step);
  /// Removes the bar.
  void clear();

 private:
  void draw(std::string_view note);

  std::size_t steps_;
  std::size_t done_ = 0;
  std::size_t tenths_told_ = 0;
  bool terminal_;
  bool drawn_ = false;
  std::string part_;
};

}  // namespace outlast::apps
