// How far a long command is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace outlast::apps {

/// A bar that redraws its line on a terminal; elsewhere a line at each tenth. Written to standard
/// error, so that standard output carries results alone. Not thread-safe.
class progress {
 public:
  explicit progress(std::size_t steps);
  ~progress();
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  /// What the next steps belong to.
  void begin(std::string_view part);
  /// One step is done; `note` says what is known now.
  void step(std::string_view note);
  /// Steps that will not come count as done.
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
