// LevelDB's Bloom filter: NewBloomFilterPolicy(). The store does not use it.
#include <outlast/base/hash.hpp>
#include <outlast/db/filter_policy.hpp>
#include <outlast/db/slice.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace OUTLAST_DB_NAMESPACE {

FilterPolicy::~FilterPolicy() = default;

namespace {

/// Calls f(bit) for the `probes` bits of a key, of `bits` bits, while it returns true. Returns true
/// if all calls did.
template <class F>
bool each_bit(const Slice& key, unsigned probes, std::size_t bits, F&& f) {
  std::uint64_t at = ::outlast::base::hash_bytes(key.view());
  const std::uint64_t step = ::outlast::base::mix64(at) | 1;
  for (unsigned i = 0; i < probes; ++i, at += step) {
    if (!f(at % bits)) return false;
  }
  return true;
}

/// A filter consists of its bits, in whole bytes, and of a byte with the number of probes of a key.
class bloom_filter final : public FilterPolicy {
 public:
  explicit bloom_filter(int bits_per_key)
      : bits_per_key_(static_cast<std::size_t>(std::max(bits_per_key, 1))),
        // The number of probes that leaves half of the bits 0: ln 2 times the bits of a key.
        probes_(static_cast<unsigned>(
            std::clamp<std::size_t>(bits_per_key_ * 69 / 100, 1, max_probes))) {}

  const char* Name() const override { return "outlast.BloomFilter"; }

  void CreateFilter(const Slice* keys, int n, std::string* dst) const override {
    constexpr std::size_t min_bits = 64;  // a smaller filter would have too many false positives
    const std::size_t wanted = std::max(static_cast<std::size_t>(n) * bits_per_key_, min_bits);
    const std::size_t bytes = (wanted + 7) / 8;
    const std::size_t begin = dst->size();
    dst->resize(begin + bytes);
    for (int i = 0; i < n; ++i) {
      each_bit(keys[i], probes_, bytes * 8, [&](std::size_t bit) {
        char& byte = (*dst)[begin + bit / 8];
        byte = static_cast<char>(byte | 1 << bit % 8);
        return true;
      });
    }
    dst->push_back(static_cast<char>(probes_));
  }

  bool KeyMayMatch(const Slice& key, const Slice& filter) const override {
    if (filter.size() < 2) return false;
    const std::string_view bits = filter.view().substr(0, filter.size() - 1);
    const auto probes = static_cast<unsigned char>(filter[filter.size() - 1]);
    if (probes > max_probes) return true;  // an unknown filter excludes no key
    return each_bit(key, probes, bits.size() * 8, [&](std::size_t bit) {
      return (static_cast<unsigned char>(bits[bit / 8]) >> bit % 8 & 1) != 0;
    });
  }

 private:
  static constexpr unsigned max_probes = 30;

  std::size_t bits_per_key_;
  unsigned probes_;
};

}  // namespace

const FilterPolicy* NewBloomFilterPolicy(int bits_per_key) {
  return new bloom_filter(bits_per_key);
}

}  // namespace OUTLAST_DB_NAMESPACE
