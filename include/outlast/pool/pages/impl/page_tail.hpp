// Bodies of page_space: the pages at the end of a pool, which are added and can be cut off.
#pragma once

#include <outlast/pool/pages/page_space.hpp>

namespace outlast {

template <domain::persistence_domain D>
template <class Ignores>
bool page_space<D>::claim_tail(std::uint32_t first, Ignores&& ignores) {
  const std::uint32_t end = limit();
  for (std::uint32_t page = first; page < end;) {
    if (ignores(page)) {
      ++page;
      continue;
    }
    std::uint32_t next = page + 1;
    while (next < end && next - page < max_given_back && !ignores(next)) ++next;
    if (!bitmap_.claim_range(page, next - page)) {
      release_tail(first, page, ignores);
      return false;
    }
    page = next;
  }
  return true;
}

template <domain::persistence_domain D>
template <class Ignores>
void page_space<D>::release_tail(std::uint32_t first, std::uint32_t end, Ignores&& ignores) {
  for (std::uint32_t page = first; page < end; ++page) {
    if (!ignores(page)) release_pages(page, 1);
  }
}

template <domain::persistence_domain D>
void page_space<D>::extend_space(std::uint32_t pages) {
  if (pages <= space()) return;
  bitmap_.provide(pages);
  if (give_back_) existence_.provide(pages / word_pages + 1);
  index_.provide(pages);
  // The limit, which is raised later, publishes the tables.
  space_pages_.store(pages, relaxed);
}

template <domain::persistence_domain D>
void page_space<D>::lower_limit(std::uint32_t page_count) {
  const std::uint32_t end = limit();
  if (give_back_) note_given_back(page_count, end - page_count);
  if (high_water() > page_count) high_water_.store(page_count, relaxed);
  bitmap_.lower_limit(page_count);
}

}  // namespace outlast
