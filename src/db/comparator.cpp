// The default comparator, which orders keys by their bytes, and LevelDB's Comparator interface.
#include <outlast/db/comparator.hpp>
#include <outlast/db/detail/engine.hpp>
#include <outlast/db/slice.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

namespace OUTLAST_DB_NAMESPACE {

Comparator::~Comparator() = default;

namespace {

/// Returns the byte plus one. Requires: the byte is not 0xff.
void increase(char& byte) { byte = static_cast<char>(static_cast<unsigned char>(byte) + 1); }

class bytewise final : public Comparator {
 public:
  int Compare(const Slice& a, const Slice& b) const override { return a.compare(b); }
  const char* Name() const override { return ::outlast::store_detail::name_of_byte_order; }

  void FindShortestSeparator(std::string* start, const Slice& limit) const override {
    const std::size_t shorter = std::min(start->size(), limit.size());
    std::size_t same = 0;
    while (same < shorter && (*start)[same] == limit[same]) ++same;
    if (same == shorter) return;  // one is a prefix of the other
    const auto from = static_cast<unsigned char>((*start)[same]);
    const auto to = static_cast<unsigned char>(limit[same]);
    if (from + 1 >= to) return;
    start->resize(same + 1);
    increase(start->back());
  }

  void FindShortSuccessor(std::string* key) const override {
    const std::size_t first = key->find_first_not_of('\xff');
    if (first == std::string::npos) return;
    key->resize(first + 1);
    increase(key->back());
  }
};

}  // namespace

const Comparator* BytewiseComparator() {
  // other threads may use it until the process ends
  static const bytewise* const only = new bytewise;
  return only;
}

}  // namespace OUTLAST_DB_NAMESPACE
