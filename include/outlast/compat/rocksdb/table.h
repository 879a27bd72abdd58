// rocksdb::TableFactory and its options. The store has no tables.
#pragma once

#include "cache.h"
#include "filter_policy.h"
#include "rocksdb_namespace.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace ROCKSDB_NAMESPACE {

enum ChecksumType : char {
  kNoChecksum = 0x0,
  kCRC32c = 0x1,
  kxxHash = 0x2,
  kxxHash64 = 0x3,
  kXXH3 = 0x4
};

/// Accepted without effect.
struct BlockBasedTableOptions {
  enum IndexType : char {
    kBinarySearch = 0x00,
    kHashSearch = 0x01,
    kTwoLevelIndexSearch = 0x02,
    kBinarySearchWithFirstKey = 0x03
  };
  enum DataBlockIndexType : char { kDataBlockBinarySearch = 0, kDataBlockBinaryAndHash = 1 };
  enum class IndexShorteningMode : char {
    kNoShortening,
    kShortenSeparators,
    kShortenSeparatorsAndSuccessor
  };

  static const char* kName() { return "BlockTableOptions"; }

  bool cache_index_and_filter_blocks = false;
  bool cache_index_and_filter_blocks_with_high_priority = true;
  bool pin_l0_filter_and_index_blocks_in_cache = false;
  bool pin_top_level_index_and_filter = true;
  IndexType index_type = kBinarySearch;
  DataBlockIndexType data_block_index_type = kDataBlockBinarySearch;
  double data_block_hash_table_util_ratio = 0.75;
  ChecksumType checksum = kXXH3;
  bool no_block_cache = false;
  std::shared_ptr<Cache> block_cache;
  std::shared_ptr<Cache> block_cache_compressed;
  std::uint64_t block_size = 4 * 1024;
  int block_size_deviation = 10;
  int block_restart_interval = 16;
  int index_block_restart_interval = 1;
  std::uint64_t metadata_block_size = 4096;
  bool partition_filters = false;
  bool optimize_filters_for_memory = false;
  bool use_delta_encoding = true;
  std::shared_ptr<const FilterPolicy> filter_policy;
  bool whole_key_filtering = true;
  bool detect_filter_construct_corruption = false;
  bool verify_compression = false;
  std::uint32_t read_amp_bytes_per_bit = 0;
  std::uint32_t format_version = 5;
  bool enable_index_compression = true;
  bool block_align = false;
  IndexShorteningMode index_shortening = IndexShorteningMode::kShortenSeparators;
  std::size_t max_auto_readahead_size = std::size_t{256} << 10;
  std::size_t initial_auto_readahead_size = std::size_t{8} << 10;
  std::uint64_t num_file_reads_for_auto_readahead = 2;
};

/// Accepted without effect.
struct PlainTableOptions {
  std::uint32_t user_key_len = 0;
  int bloom_bits_per_key = 10;
  double hash_table_ratio = 0.75;
  std::size_t index_sparseness = 16;
  std::size_t huge_page_tlb_size = 0;
  bool full_scan_mode = false;
  bool store_index_in_file = false;
};

/// Accepted without effect: the store has no tables.
class TableFactory {
 public:
  explicit TableFactory(const char* name) : name_(name) {}
  TableFactory(const TableFactory&) = delete;
  TableFactory& operator=(const TableFactory&) = delete;
  virtual ~TableFactory() = default;

  virtual const char* Name() const { return name_; }
  /// Returns the options of the factory, or nullptr if they have another type.
  template <class Options>
  Options* GetOptions() {
    return static_cast<Options*>(options(&identity<Options>));
  }

 protected:
  template <class Options>
  inline static const char identity = 0;

  /// `of`: &identity<Options>.
  virtual void* options(const void* of) = 0;

 private:
  const char* name_;
};

namespace outlast_detail {

template <class Options>
class table_factory final : public TableFactory {
 public:
  table_factory(const char* name, const Options& options) : TableFactory(name), options_(options) {}

 private:
  void* options(const void* of) override { return of == &identity<Options> ? &options_ : nullptr; }

  Options options_;
};

}  // namespace outlast_detail

// The caller owns the result.
inline TableFactory* NewBlockBasedTableFactory(const BlockBasedTableOptions& options = {}) {
  return new outlast_detail::table_factory<BlockBasedTableOptions>("BlockBasedTable", options);
}
inline TableFactory* NewPlainTableFactory(const PlainTableOptions& options = {}) {
  return new outlast_detail::table_factory<PlainTableOptions>("PlainTable", options);
}

}  // namespace ROCKSDB_NAMESPACE
