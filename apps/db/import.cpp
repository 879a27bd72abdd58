// outlast db import: converts a LevelDB database to a store.
#include <apps/db/import.hpp>

#include <apps/db/leveldb.hpp>
#include <apps/db/meter.hpp>
#include <apps/db/session.hpp>
#include <apps/db/text.hpp>
#include <outlast/db/options.hpp>
#include <outlast/db/write_batch.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

namespace outlast::apps::db {

using namespace outlast::db;

namespace {

/// Puts all entries and returns the number of keys. Durable at return.
std::uint64_t copy(leveldb_database& from, const store_handle& to) {
  constexpr std::size_t batch_bytes = std::size_t{1} << 20;
  meter bar("import", "bytes");
  const std::uint64_t all = from.bytes_before(std::string(64, '\xff'));
  std::uint64_t keys = 0;
  WriteBatch some;
  std::string last;
  for (; from.is_valid(); from.next()) {
    if (keys != 0 && to.order->Compare(last, from.key()) >= 0) {
      throw failure("the keys are not in the order of --comparator: '" + escaped(last) +
                    "' comes before '" + escaped(from.key()) + "'");
    }
    last = from.key();
    some.Put(from.key(), from.value());
    ++keys;
    if (some.ApproximateSize() < batch_bytes) continue;
    require_written(to->Write(WriteOptions(), &some));
    some.Clear();
    bar.advance(from.bytes_before(from.key()), all);
  }
  from.require_sound();
  WriteOptions durable;
  durable.sync = true;
  require_written(to->Write(durable, &some));
  return keys;
}

void require_absent(const std::string& store) {
  std::error_code unknown;
  if (!std::filesystem::exists(store, unknown)) return;
  if (std::filesystem::is_directory(store, unknown) && std::filesystem::is_empty(store, unknown)) {
    return;
  }
  throw failure(store + ": already exists; name a directory that does not exist");
}

}  // namespace

std::uint64_t import_leveldb(const leveldb_source& from, const std::string& to,
                             const new_store& wanted) {
  require_absent(to);
  leveldb_database source(from.library, from.directory, from.order);
  std::string target = to;
  while (target.size() > 1 && target.back() == '/') target.pop_back();
  const std::string aside = target + ".importing";
  require(DestroyDB(aside, Options()));  // the remainder of an interrupted import
  std::uint64_t keys = 0;
  try {
    const store_handle store =
        open_to_write(aside, opening::made_or_none, wanted, from.order, source.order().Name());
    keys = copy(source, store);
    const std::uint64_t there = number_of(*store, "outlast.keys");
    if (there != keys) {
      throw failure(aside + ": contains " + std::to_string(there) + " keys instead of the " +
                    std::to_string(keys) + " of " + from.directory);
    }
  } catch (...) {
    static_cast<void>(DestroyDB(aside, Options()));
    throw;
  }
  std::error_code failed;
  std::filesystem::rename(aside, target, failed);
  if (failed) throw failure(target + ": cannot rename '" + aside + "' to it: " + failed.message());
  return keys;
}

}  // namespace outlast::apps::db
