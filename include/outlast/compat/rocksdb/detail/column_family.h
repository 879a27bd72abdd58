// rocksdb::ColumnFamilyHandle.
#pragma once

#include "../comparator.h"
#include "../options.h"
#include "../rocksdb_namespace.h"
#include "../status.h"

#include <cstdint>
#include <string>
#include <utility>

namespace ROCKSDB_NAMESPACE {

inline const std::string kDefaultColumnFamilyName = "default";

/// A name of a column family, and its options.
struct ColumnFamilyDescriptor {
  ColumnFamilyDescriptor() = default;
  ColumnFamilyDescriptor(std::string name_of_it, ColumnFamilyOptions options_of_it)
      : name(std::move(name_of_it)), options(std::move(options_of_it)) {}

  std::string name = kDefaultColumnFamilyName;
  ColumnFamilyOptions options;
};

/// The default column family, which contains all keys. It is the only one. Thread-safety: all
/// members may be called concurrently.
class ColumnFamilyHandle {
 public:
  virtual ~ColumnFamilyHandle() = default;

  virtual const std::string& GetName() const = 0;
  virtual std::uint32_t GetID() const = 0;
  virtual Status GetDescriptor(ColumnFamilyDescriptor* desc) = 0;
  virtual const Comparator* GetComparator() const = 0;
};

namespace outlast_detail {

class default_family final : public ColumnFamilyHandle {
 public:
  explicit default_family(const ColumnFamilyOptions& options)
      : described_(kDefaultColumnFamilyName, options) {}
  const std::string& GetName() const override { return described_.name; }
  std::uint32_t GetID() const override { return 0; }
  Status GetDescriptor(ColumnFamilyDescriptor* desc) override {
    *desc = described_;
    return {};
  }
  const Comparator* GetComparator() const override { return described_.options.comparator; }

 private:
  ColumnFamilyDescriptor described_;
};

}  // namespace outlast_detail

}  // namespace ROCKSDB_NAMESPACE
