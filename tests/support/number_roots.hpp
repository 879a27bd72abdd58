// Roots of a pool whose objects are runs of pages that begin and end with a number.
#pragma once

#include <outlast/domain/persist.hpp>
#include <outlast/pool/pool.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace outlast::test {

/// Makes a root whose object is a run of `pages` pages, which begins and ends with `value`.
template <class D>
void make_root(basic_pool<D>& target, const std::string& name, std::uint64_t value,
               std::uint32_t pages = 1) {
  const std::size_t bytes = pages * pool_format::page_bytes;
  const attached_root root = target.attach_root(name, "number", 1, true);
  auto* const object = static_cast<std::byte*>(
      target.pages().allocate_run(pool_format::run_kind::large, root.index, 1, pages, bytes));
  std::byte* const end = object + bytes - sizeof value;
  D::write(object, &value, sizeof value);
  D::write(end, &value, sizeof value);
  domain::flush<D>(object, sizeof value);
  domain::flush<D>(end, sizeof value);
  domain::fence<D>();
  target.publish_root(root.index, object);
  target.detach_root(root.index, true);
}

/// Returns the number of a root that make_root() has made; the greatest one if its object begins
/// and ends with different numbers.
template <class Pool>
std::uint64_t value_of(Pool& target, const std::string& name, std::uint32_t pages = 1) {
  const attached_root root = target.attach_root(name, "number", 1, true);
  const auto* const object = reinterpret_cast<const std::byte*>(target.base() + root.object_offset);
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::memcpy(&first, object, sizeof first);
  std::memcpy(&last, object + pages * pool_format::page_bytes - sizeof last, sizeof last);
  target.detach_root(root.index, true);
  return first == last ? first : ~std::uint64_t{0};
}

}  // namespace outlast::test
