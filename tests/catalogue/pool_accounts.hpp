// Whose pages are whose: what must hold of a pool in which no operation runs.
#pragma once

#include <outlast/pool/check.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/verify/explorer/map_subject.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace outlast::verify::detail {

/// Pages below the high water that can be claimed. They are given back.
template <class Pool>
std::uint32_t count_free_pages(Pool& pool) {
  auto& pages = pool.pages();
  const std::uint32_t end = pages.high_water();
  std::vector<std::uint32_t> claimed;
  while (const auto page = pages.claim(1)) {
    claimed.push_back(*page);
    if (*page >= end) break;  // in a pool of at most 64 pages the lowest comes first
  }
  std::uint32_t below = 0;
  for (const std::uint32_t page : claimed) {
    if (page < end) ++below;
    pages.release_pages(page, 1);
  }
  return below;
}

/// Owners that runs may have. Adds to `wrong` what is only half there.
template <class Pool>
std::set<std::uint32_t> owners_in(Pool& pool, std::string& wrong) {
  std::set<std::uint32_t> owners;
  for (const root_info& root : pool.roots()) {
    if (!root.live) wrong = "the root '" + root.name + "' is half created or half dropped";
    owners.insert(root.index);
  }
  for (const region_info& region : pool.regions()) {
    owners.insert(pool_format::region_owner_base | region.index);
  }
  return owners;
}

/// Every run belongs to a live root or region, and every other page is free.
template <class Pool>
std::string check_owners(Pool& pool) {
  std::string wrong;
  const std::set<std::uint32_t> owners = owners_in(pool, wrong);
  const std::uint32_t end = pool.pages().high_water();
  std::uint32_t used = 0;
  pool.pages().for_each_run([&](std::uint32_t first, pool_format::run_word run) {
    used += run.pages;
    if (owners.contains(run.owner)) return;
    wrong = "the run of page " + std::to_string(first) + " belongs to no root or region";
  });
  const std::uint32_t all = end - pool.pages().first_page();
  const std::uint32_t free = count_free_pages(pool);
  if (used + free == all || !wrong.empty()) return wrong;
  return "of " + std::to_string(all) + " pages " + std::to_string(used) + " are in use and " +
         std::to_string(free) + " can be claimed";
}

/// Opens the pool in `memory`. What a crash has left is no damage to `outlast check` either.
template <class Pool>
std::unique_ptr<Pool> open_checked(std::span<std::byte> memory, bool fresh, std::size_t size_bytes,
                                   unsigned format_version = 0) {
  if (!fresh) {
    const std::string wrong = first_error(pool_format::check_image(memory));
    if (!wrong.empty()) throw corruption("", "before it is opened, " + wrong);
  }
  return open_pool<Pool>(memory, fresh, size_bytes, format_version);
}

/// The first thing wrong with the pool, or "". No operation runs; a pool of at most 64 pages.
template <class Pool>
std::string check_accounts(Pool& pool) {
  std::string wrong = pool.pages().check();
  if (wrong.empty()) wrong = first_error(pool.check());
  if (wrong.empty()) wrong = check_owners(pool);
  return wrong;
}

}  // namespace outlast::verify::detail
