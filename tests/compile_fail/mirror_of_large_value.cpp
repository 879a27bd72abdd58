// An atomic stands in one word of each replica: a larger value belongs into a node of its own.
#include <outlast/durable/mirror.hpp>

#include <cstdint>

struct account {
  std::uint64_t balance;
#ifndef OUTLAST_GOOD
  std::uint32_t owner;
#endif
};

account content_of(const outlast::mirror::atomic<account>& cell) { return cell.load(); }
