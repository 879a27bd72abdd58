#include <bench/micro/micro.hpp>

namespace outlast::bench {

const std::vector<micro_benchmark>& micro_benchmarks() {
  static const std::vector<micro_benchmark> all = {
      {"flush", "write-backs, fences and streaming stores on this machine", measure_flush_costs},
      {"allocator", "the pool's allocator beside jemalloc and mimalloc", measure_allocator},
      {"memory", "bytes for each key, all replicas together", measure_memory},
      {"recovery", "reopening a hash table after a kill", measure_recovery},
      {"readers", "lookups from another process", measure_readers},
      {"sets", "updates, growth and recovery of sets without durable links", measure_sets},
      {"open", "opening cleanly closed pools", measure_open},
      {"pools", "pools that grow: all of the following", measure_pools},
      {"growth", "operations while their pool grows, in memory", measure_growth},
      {"growth-disk", "the same on a disk, with LMDB and RocksDB", measure_growth_on_disk},
      {"refill", "a pool's file after ten rounds of filling and erasing", measure_refill},
      {"open-large", "opening cleanly closed pools of 1 TiB", measure_large_open},
      {"backup", "backups of pools while threads write to them", measure_backup},
      {"epochs", "buffered structures: all of the following", measure_epochs},
      {"epochs-maps", "buffered maps beside transient and strict ones", measure_epoch_maps},
      {"epochs-queues", "buffered queues beside transient and strict ones", measure_epoch_queues},
      {"epochs-sizes", "the same, by the size of values", measure_epoch_sizes},
      {"epochs-syncs", "buffered maps by the frequency of syncs", measure_epoch_syncs},
      {"epochs-design", "buffered structures by options of the clock", measure_epoch_design},
      {"epochs-cache", "a cache under YCSB-A", measure_epoch_cache},
      {"epochs-graph", "graphs that change", measure_epoch_graph},
      {"epochs-graph-recovery", "a graph loaded, and found again after a kill",
       measure_epoch_graph_recovery},
      {"epochs-recovery", "opening a buffered map after a kill", measure_epoch_recovery},
      {"epochs-counts", "flushes and fences of buffered structures", measure_epoch_counts},
      {"epochs-file", "buffered maps on a disk", measure_epoch_file},
      {"tx-sps", "transactions: exchanges in an array", measure_tx_exchanges},
      {"tx-queue", "transactions: a queue", measure_tx_queues},
      {"tx-sets", "transactions: list, tree and hash map", measure_tx_sets},
      {"tx-costs", "what an operation, its engine and its flushes take", measure_tx_costs},
      {"tx-counts", "flushes and fences of transactions", measure_tx_counts},
      {"tx-reopen", "opening a large region after a kill", measure_tx_reopening},
      {"tx-memory", "memory and file space of transactions", measure_tx_memory},
      {"store", "the store beside others: the first three of the following", measure_store},
      {"store-memory", "a million keys in memory", measure_store_in_memory},
      {"store-disk", "a million keys on a disk", measure_store_on_disk},
      {"store-recovery", "opening ten million keys after a kill", measure_store_recovery},
      {"store-large", "ten million keys in memory", measure_large_store},
      {"store-beside", "a million keys beside all that others would take", measure_store_beside},
      {"store-ycsb", "workloads A to F in memory", measure_store_ycsb},
      {"store-counts", "flushes and fences of the store's puts", measure_store_counts},
  };
  return all;
}

}  // namespace outlast::bench
