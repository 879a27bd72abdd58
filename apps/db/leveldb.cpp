// Reads LevelDB databases through LevelDB's shared library, which it loads at run time.
#include <apps/db/leveldb.hpp>

#include <apps/db/order.hpp>
#include <apps/db/session.hpp>
#include <outlast/db/slice.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <dlfcn.h>

namespace outlast::apps::db {
// Members of a class with linkage have types with linkage: sources may be compiled as one.
namespace leveldb_detail {

/// A shared library. It stays loaded: LevelDB's threads outlive its databases.
class library {
 public:
  explicit library(const std::string& name)
      : name_(name), handle_(::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ != nullptr) return;
    const char* const why = ::dlerror();
    throw failure("LevelDB's library does not load (" + std::string(why == nullptr ? name : why) +
                  "); install it: apt-get install libleveldb1d");
  }

  /// Sets `function` to the symbol of this name.
  template <class Function>
  void find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(::dlsym(handle_, name));
    if (function == nullptr) throw failure(name_ + " has no " + name + "; this is not LevelDB");
  }

 private:
  std::string name_;
  void* handle_;
};

/// The functions of LevelDB's interface for C that are used here.
struct calls {
  explicit calls(const library& from) {
    from.find(options_create, "leveldb_options_create");
    from.find(options_destroy, "leveldb_options_destroy");
    from.find(options_set_paranoid_checks, "leveldb_options_set_paranoid_checks");
    from.find(readoptions_create, "leveldb_readoptions_create");
    from.find(readoptions_destroy, "leveldb_readoptions_destroy");
    from.find(readoptions_set_verify_checksums, "leveldb_readoptions_set_verify_checksums");
    from.find(readoptions_set_fill_cache, "leveldb_readoptions_set_fill_cache");
    from.find(open, "leveldb_open");
    from.find(close, "leveldb_close");
    from.find(free, "leveldb_free");
    from.find(create_iterator, "leveldb_create_iterator");
    from.find(iter_destroy, "leveldb_iter_destroy");
    from.find(iter_valid, "leveldb_iter_valid");
    from.find(iter_seek_to_first, "leveldb_iter_seek_to_first");
    from.find(iter_next, "leveldb_iter_next");
    from.find(iter_key, "leveldb_iter_key");
    from.find(iter_value, "leveldb_iter_value");
    from.find(iter_get_error, "leveldb_iter_get_error");
    from.find(approximate_sizes, "leveldb_approximate_sizes");
    from.find(comparator_create, "leveldb_comparator_create");
    from.find(comparator_destroy, "leveldb_comparator_destroy");
    from.find(options_set_comparator, "leveldb_options_set_comparator");
  }

  void* (*options_create)();
  void (*options_destroy)(void*);
  void (*options_set_paranoid_checks)(void*, unsigned char);
  void* (*readoptions_create)();
  void (*readoptions_destroy)(void*);
  void (*readoptions_set_verify_checksums)(void*, unsigned char);
  void (*readoptions_set_fill_cache)(void*, unsigned char);
  void* (*open)(const void* options, const char* name, char** error);
  void (*close)(void* db);
  void (*free)(void*);
  void* (*create_iterator)(void* db, const void* options);
  void (*iter_destroy)(void*);
  unsigned char (*iter_valid)(const void*);
  void (*iter_seek_to_first)(void*);
  void (*iter_next)(void*);
  const char* (*iter_key)(const void*, std::size_t* size);
  const char* (*iter_value)(const void*, std::size_t* size);
  void (*iter_get_error)(const void*, char** error);
  void (*approximate_sizes)(void* db, int count, const char* const* starts,
                            const std::size_t* start_sizes, const char* const* limits,
                            const std::size_t* limit_sizes, std::uint64_t* sizes);
  void* (*comparator_create)(void* state, void (*destructor)(void*),
                             int (*compare)(void*, const char* a, std::size_t a_size, const char* b,
                                            std::size_t b_size),
                             const char* (*name)(void*));
  void (*comparator_destroy)(void*);
  void (*options_set_comparator)(void* options, void* comparator);
};

}  // namespace leveldb_detail

namespace {

using leveldb_detail::calls;
using leveldb_detail::library;
using outlast::db::BytewiseComparator;
using outlast::db::Comparator;
using outlast::db::Slice;

/// Throws failure if there is an error.
void require_none(const calls& leveldb, const std::string& directory, char* error) {
  if (error == nullptr) return;
  const std::string sentence = error;
  leveldb.free(error);
  if (sentence.find("outlast db import") != std::string::npos) {
    throw failure(directory +
                  ": the loaded library is a drop-in replacement of LevelDB's; pass the path of "
                  "LevelDB's own as --library");
  }
  throw failure(directory + ": LevelDB reports: " + sentence);
}

/// Returns the name of a database's comparator from LevelDB's refusal of another one; "" if the
/// refusal has none.
std::string order_in(const std::string& refusal) {
  constexpr std::string_view before = "Invalid argument: ";
  const std::size_t end = refusal.find(" does not match existing comparator");
  if (end == std::string::npos || !refusal.starts_with(before)) return {};
  return refusal.substr(before.size(), end - before.size());
}

// A comparator as LevelDB's interface for C takes it.
int compare(void* order, const char* a, std::size_t a_size, const char* b, std::size_t b_size) {
  return static_cast<const Comparator*>(order)->Compare(Slice(a, a_size), Slice(b, b_size));
}
const char* name_of(void* order) { return static_cast<const Comparator*>(order)->Name(); }

/// Throws failure if the directory is not a database, because LevelDB would create one.
void require_database(const std::string& directory) {
  if (std::filesystem::exists(directory + "/CURRENT")) return;
  throw failure(directory + ": contains no LevelDB database (no file CURRENT)");
}

}  // namespace

struct leveldb_database::opened {
  opened(const std::string& name, const std::string& in, const std::string& given)
      : leveldb(library(name)), directory(in), order(&usual_comparator(given)) {
    require_database(directory);
    char* error = open();
    if (error != nullptr) open_with_own(error, given);
    read();
  }
  ~opened() {
    leveldb.iter_destroy(at);
    leveldb.readoptions_destroy(reading);
    leveldb.close(db);
    release();
  }
  opened(const opened&) = delete;
  opened& operator=(const opened&) = delete;

  /// Opens the database again with its own comparator, whose name only LevelDB's error text
  /// contains.
  void open_with_own(char* refusal, const std::string& given) {
    const std::string own = order_in(refusal);
    if (own.empty()) require_none(leveldb, directory, refusal);
    leveldb.free(refusal);
    order = contradicts(own, given) ? nullptr : comparator_of(own, given);
    if (order == nullptr) {
      throw failure(
          directory + ": its keys are in the order of the comparator '" + own +
          "', which this program does not have; if that is the order of the bytes, or "
          "the reverse, pass --comparator; otherwise copy the keys with a program that has "
          "the comparator");
    }
    require_none(leveldb, directory, open());
  }
  /// Opens the database. Returns LevelDB's error text, or nullptr.
  char* open() {
    options = leveldb.options_create();
    leveldb.options_set_paranoid_checks(options, 1);
    if (order != BytewiseComparator()) {
      comparator = leveldb.comparator_create(
          const_cast<Comparator*>(order), [](void*) {}, &compare, &name_of);
      leveldb.options_set_comparator(options, comparator);
    }
    char* error = nullptr;
    db = leveldb.open(options, directory.c_str(), &error);
    if (error != nullptr) release();
    return error;
  }
  void release() {
    leveldb.options_destroy(std::exchange(options, nullptr));
    if (comparator != nullptr) leveldb.comparator_destroy(std::exchange(comparator, nullptr));
  }
  void read() {
    reading = leveldb.readoptions_create();
    leveldb.readoptions_set_verify_checksums(reading, 1);
    leveldb.readoptions_set_fill_cache(reading, 0);
    at = leveldb.create_iterator(db, reading);
    leveldb.iter_seek_to_first(at);
  }

  calls leveldb;
  std::string directory;
  const Comparator* order;
  void* comparator = nullptr;
  void* options = nullptr;
  void* db = nullptr;
  void* reading = nullptr;
  void* at = nullptr;
};

leveldb_database::leveldb_database(const std::string& library, const std::string& directory,
                                   const std::string& order)
    : opened_(std::make_unique<opened>(library, directory, order)) {}
leveldb_database::~leveldb_database() = default;

const Comparator& leveldb_database::order() const noexcept { return *opened_->order; }

bool leveldb_database::is_valid() const { return opened_->leveldb.iter_valid(opened_->at) != 0; }
void leveldb_database::next() { opened_->leveldb.iter_next(opened_->at); }

std::string_view leveldb_database::key() const {
  std::size_t size = 0;
  const char* const bytes = opened_->leveldb.iter_key(opened_->at, &size);
  return {bytes, size};
}
std::string_view leveldb_database::value() const {
  std::size_t size = 0;
  const char* const bytes = opened_->leveldb.iter_value(opened_->at, &size);
  return {bytes, size};
}

void leveldb_database::require_sound() const {
  char* error = nullptr;
  opened_->leveldb.iter_get_error(opened_->at, &error);
  require_none(opened_->leveldb, opened_->directory, error);
}

std::uint64_t leveldb_database::bytes_before(std::string_view key) const {
  const char* const start = "";
  const char* const limit = key.data();
  const std::size_t start_size = 0;
  const std::size_t limit_size = key.size();
  std::uint64_t size = 0;
  opened_->leveldb.approximate_sizes(opened_->db, 1, &start, &start_size, &limit, &limit_size,
                                     &size);
  return size;
}

}  // namespace outlast::apps::db
