// The comparators that the tool has: bytewise and reverse.
#include <apps/db/order.hpp>

#include <outlast/db/slice.hpp>

#include <deque>
#include <optional>
#include <utility>

namespace outlast::apps::db {
// Members of a class with linkage have types with linkage: sources may be compiled as one.
namespace order_detail {

using outlast::db::Comparator;
using outlast::db::Slice;

/// Orders keys by their bytes, forward or backward. It shortens no key.
class by_bytes final : public Comparator {
 public:
  by_bytes(std::string name, order_kind kind) : name_(std::move(name)), kind_(kind) {}

  int Compare(const Slice& a, const Slice& b) const override {
    return kind_ == order_kind::reverse ? b.compare(a) : a.compare(b);
  }
  const char* Name() const override { return name_.c_str(); }
  void FindShortestSeparator(std::string* /*start*/, const Slice& /*limit*/) const override {}
  void FindShortSuccessor(std::string* /*key*/) const override {}

 private:
  std::string name_;
  order_kind kind_;
};

}  // namespace order_detail

namespace {

/// RocksDB's name for it.
constexpr const char* reverse_name = "rocksdb.ReverseBytewiseComparator";

std::optional<order_kind> kind_given(std::string_view given) {
  if (given.empty()) return std::nullopt;
  return given == orders_given[1] ? order_kind::reverse : order_kind::bytewise;
}
std::optional<order_kind> kind_named(const std::string& name) {
  if (name == outlast::db::BytewiseComparator()->Name()) return order_kind::bytewise;
  if (name == reverse_name) return order_kind::reverse;
  return std::nullopt;
}

}  // namespace

const outlast::db::Comparator* comparator_of(const std::string& name, std::string_view given) {
  static std::deque<order_detail::by_bytes> all;
  std::optional<order_kind> kind = kind_named(name);
  if (!kind) kind = kind_given(given);
  if (!kind) return nullptr;
  if (name == outlast::db::BytewiseComparator()->Name()) return outlast::db::BytewiseComparator();
  return &all.emplace_back(name, *kind);
}

const outlast::db::Comparator& usual_comparator(std::string_view given) {
  const bool is_reverse = kind_given(given) == order_kind::reverse;
  return *comparator_of(is_reverse ? reverse_name : outlast::db::BytewiseComparator()->Name(), "");
}

bool contradicts(const std::string& name, std::string_view given) {
  const auto named = kind_named(name);
  const auto wanted = kind_given(given);
  return named && wanted && *named != *wanted;
}

}  // namespace outlast::apps::db
