// The kinds of compression. The store uses none of them.
#pragma once

#include "rocksdb_namespace.h"

#include <cstdint>

namespace ROCKSDB_NAMESPACE {

/// Accepted without effect: the store does not compress values.
enum CompressionType : unsigned char {
  kNoCompression = 0x0,
  kSnappyCompression = 0x1,
  kZlibCompression = 0x2,
  kBZip2Compression = 0x3,
  kLZ4Compression = 0x4,
  kLZ4HCCompression = 0x5,
  kXpressCompression = 0x6,
  kZSTD = 0x7,
  kZSTDNotFinalCompression = 0x40,
  kDisableCompressionOption = 0xff
};

/// Accepted without effect.
struct CompressionOptions {
  static constexpr int kDefaultCompressionLevel = 32767;

  int window_bits = -14;
  int level = kDefaultCompressionLevel;
  int strategy = 0;
  std::uint32_t max_dict_bytes = 0;
  std::uint32_t zstd_max_train_bytes = 0;
  std::uint32_t parallel_threads = 1;
  bool enabled = false;
  std::uint64_t max_dict_buffer_bytes = 0;
  bool use_zstd_dict_trainer = true;
};

}  // namespace ROCKSDB_NAMESPACE
