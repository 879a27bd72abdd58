// LevelDB's functions for its own files, which the store does not have; they return NotSupported.
#include <outlast/db/dumpfile.hpp>
#include <outlast/db/table.hpp>
#include <outlast/db/table_builder.hpp>

#include <cstdint>
#include <string>

namespace OUTLAST_DB_NAMESPACE {

namespace {

Status no_tables() { return Status::NotSupported("this store has no sorted tables"); }

}  // namespace

Status DumpFile(Env* /*env*/, const std::string& fname, WritableFile* /*dst*/) {
  return Status::NotSupported(fname, "not shown; `outlast db dump` shows a store");
}

Status Table::Open(const Options& /*options*/, RandomAccessFile* /*file*/, uint64_t /*file_size*/,
                   Table** table) {
  *table = nullptr;
  return no_tables();
}
Table::~Table() = default;
Iterator* Table::NewIterator(const ReadOptions& /*options*/) const {
  return NewErrorIterator(no_tables());
}
uint64_t Table::ApproximateOffsetOf(const Slice& /*key*/) const { return 0; }

TableBuilder::TableBuilder(const Options& /*options*/, WritableFile* /*file*/) {}
TableBuilder::~TableBuilder() = default;
Status TableBuilder::ChangeOptions(const Options& /*options*/) { return no_tables(); }
void TableBuilder::Add(const Slice& /*key*/, const Slice& /*value*/) {}
void TableBuilder::Flush() {}
Status TableBuilder::status() const { return no_tables(); }
Status TableBuilder::Finish() { return no_tables(); }
void TableBuilder::Abandon() {}
uint64_t TableBuilder::NumEntries() const { return 0; }
uint64_t TableBuilder::FileSize() const { return 0; }

}  // namespace OUTLAST_DB_NAMESPACE
