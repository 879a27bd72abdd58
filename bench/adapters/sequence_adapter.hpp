// A stack or queue behind the engine's set: insertions push the key, erasures pop, lookups ask
// whether it is empty.
#pragma once

#include <bench/adapters/temporary_pool.hpp>
#include <bench/engine/subject.hpp>

#include <cstdint>

namespace outlast::bench {

template <class Sequence, class Domain>
class sequence_adapter {
 public:
  explicit sequence_adapter(const subject_options& options)
      : pool_(options.pool_directory, pool_options_for(options)),
        sequence_(pool_.get(), "sequence") {}

  bool insert(std::uint64_t key) {
    sequence_.push(key);
    return true;
  }
  bool erase(std::uint64_t) { return sequence_.pop().has_value(); }
  bool contains(std::uint64_t) const { return !sequence_.empty(); }
  [[nodiscard]] std::uint64_t count() const {
    std::uint64_t values = 0;
    sequence_.for_each([&](std::uint64_t) { ++values; });
    return values;
  }

 private:
  temporary_pool<Domain> pool_;
  Sequence sequence_;
};

}  // namespace outlast::bench
