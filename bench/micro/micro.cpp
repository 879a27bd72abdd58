#include <bench/micro/micro.hpp>

namespace outlast::bench {

const std::vector<micro_benchmark>& micro_benchmarks() {
  static const std::vector<micro_benchmark> all = {
      {"flush", "write-backs, fences and streaming stores on this machine", measure_flush_costs},
  };
  return all;
}

}  // namespace outlast::bench
