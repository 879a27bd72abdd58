// The notes of a thread between a flush and its fence.
#pragma once

#include <outlast/domain/logged_file.hpp>

#include <cstdint>
#include <new>
#include <vector>

namespace outlast::domain {

/// The notes of a thread slot that has flushed under a domain that notes.
struct thread_notes {
  std::vector<std::uintptr_t> pages;  ///< of domain::file
  std::vector<line_range> lines;      ///< of domain::logged_file
};

/// Returns the calling thread's notes, or nullptr if there are none and memory for them is
/// exhausted.
[[nodiscard]] thread_notes* notes_of_this_thread() noexcept;

/// Adds to the thread's notes. Returns false if memory is exhausted.
template <class Note>
[[nodiscard]] bool remember(std::vector<Note>& in, const Note& what) noexcept {
  try {
    in.push_back(what);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace outlast::domain
