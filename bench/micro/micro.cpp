#include <bench/micro/micro.hpp>

namespace outlast::bench {

const std::vector<micro_benchmark>& micro_benchmarks() {
  static const std::vector<micro_benchmark> all = {
      {"flush", "write-backs, fences and streaming stores on this machine", measure_flush_costs},
      {"allocator", "the pool's allocator beside jemalloc and mimalloc", measure_allocator},
      {"memory", "bytes for each key, all replicas together", measure_memory},
      {"recovery", "reopening a hash table after a kill", measure_recovery},
      {"sets", "updates, growth and recovery of sets without durable links", measure_sets},
      {"open", "opening cleanly closed pools", measure_open},
  };
  return all;
}

}  // namespace outlast::bench
