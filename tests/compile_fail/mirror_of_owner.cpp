// What is copied otherwise than byte by byte cannot be in two places at once, nor in a pool at all.
#include <outlast/durable/mirror.hpp>

#include <memory>

#ifdef OUTLAST_GOOD
using pointer = int*;
#else
using pointer = std::unique_ptr<int>;
#endif

bool is_set(const outlast::mirror::atomic<pointer>& cell) { return cell.load() != nullptr; }
