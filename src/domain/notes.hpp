// What threads remember between a flush and its fence.
#pragma once

#include <outlast/domain/logged_file.hpp>

#include <cstdint>
#include <new>
#include <vector>

namespace outlast::domain {

/// One of these belongs to each thread slot that ever flushed under a domain that notes.
struct thread_notes {
  std::vector<std::uintptr_t> pages;  ///< of domain::file
  std::vector<line_range> lines;      ///< of domain::logged_file
};

/// The calling thread's; null: there are none, and no memory for them.
[[nodiscard]] thread_notes* notes_of_this_thread() noexcept;

/// Adds to what the thread remembers. False: there is no memory for it.
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
