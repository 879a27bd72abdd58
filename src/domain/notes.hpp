// What threads remember between a flush and its fence.
#pragma once

#include <outlast/domain/logged_file.hpp>

#include <cstdint>
#include <vector>

namespace outlast::domain {

/// One of these belongs to each thread slot that ever flushed under a domain that notes.
struct thread_notes {
  std::vector<std::uintptr_t> pages;  ///< of domain::file
  std::vector<line_range> lines;      ///< of domain::logged_file
};

/// The calling thread's. Throws std::bad_alloc.
[[nodiscard]] thread_notes& notes_of_this_thread();

}  // namespace outlast::domain
