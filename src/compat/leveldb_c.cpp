// LevelDB's functions for C. Each calls the member function after which it is named.
#include <outlast/compat/leveldb/c.h>
#include <outlast/db/cache.hpp>
#include <outlast/db/comparator.hpp>
#include <outlast/db/db.hpp>
#include <outlast/db/env.hpp>
#include <outlast/db/filter_policy.hpp>
#include <outlast/db/iterator.hpp>
#include <outlast/db/options.hpp>
#include <outlast/db/slice.hpp>
#include <outlast/db/status.hpp>
#include <outlast/db/write_batch.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace db = OUTLAST_DB_NAMESPACE;

// The types that C programs use. Each object owns the objects that the program created for it.

struct leveldb_t {
  std::unique_ptr<db::DB> of;
};
struct leveldb_iterator_t {
  std::unique_ptr<db::Iterator> of;
};
struct leveldb_snapshot_t {
  const db::Snapshot* of;
};
struct leveldb_writebatch_t {
  db::WriteBatch of;
};
struct leveldb_options_t {
  db::Options of;
};
struct leveldb_readoptions_t {
  db::ReadOptions of;
};
struct leveldb_writeoptions_t {
  db::WriteOptions of;
};
struct leveldb_cache_t {
  std::unique_ptr<db::Cache> of;
};
struct leveldb_env_t {
  db::Env* of;  // the system's, which is never deleted
};
struct leveldb_logger_t {  // no function creates one
  db::Logger* of;
};

struct leveldb_comparator_t final : db::Comparator {
  leveldb_comparator_t(void* its_state, void (*its_destructor)(void*),
                       int (*its_compare)(void*, const char*, size_t, const char*, size_t),
                       const char* (*its_name)(void*))
      : state(its_state), destructor(its_destructor), compare(its_compare), name(its_name) {}
  ~leveldb_comparator_t() override { destructor(state); }

  int Compare(const db::Slice& a, const db::Slice& b) const override {
    return compare(state, a.data(), a.size(), b.data(), b.size());
  }
  const char* Name() const override { return name(state); }
  void FindShortestSeparator(std::string* /*start*/, const db::Slice& /*limit*/) const override {}
  void FindShortSuccessor(std::string* /*key*/) const override {}

  void* state;
  void (*destructor)(void*);
  int (*compare)(void*, const char*, size_t, const char*, size_t);
  const char* (*name)(void*);
};

struct leveldb_filterpolicy_t : db::FilterPolicy {};

namespace {

char* copy_of(std::string_view bytes) {
  char* const copy = static_cast<char*>(std::malloc(bytes.size() + 1));
  if (copy == nullptr) return nullptr;
  bytes.copy(copy, bytes.size());
  copy[bytes.size()] = '\0';
  return copy;
}

/// Returns true if the status is OK. Otherwise sets *errptr to the error text, if errptr is not
/// null.
bool report(const db::Status& status, char** errptr) {
  if (status.ok()) return true;
  if (errptr == nullptr) return false;
  std::free(*errptr);
  *errptr = copy_of(status.ToString());
  return false;
}

const char* bytes_of(const db::Slice& text, size_t* bytes) {
  *bytes = text.size();
  return text.data();
}

class policy_of_functions final : public leveldb_filterpolicy_t {
 public:
  using create = char* (*)(void*, const char* const*, const size_t*, int, size_t*);
  using ask = uint8_t (*)(void*, const char*, size_t, const char*, size_t);

  policy_of_functions(void* state, void (*destructor)(void*), create create_filter,
                      ask key_may_match, const char* (*name)(void*))
      : state_(state),
        destructor_(destructor),
        create_filter_(create_filter),
        key_may_match_(key_may_match),
        name_(name) {}
  policy_of_functions(const policy_of_functions&) = delete;
  policy_of_functions& operator=(const policy_of_functions&) = delete;
  ~policy_of_functions() override { destructor_(state_); }

  const char* Name() const override { return name_(state_); }
  void CreateFilter(const db::Slice* keys, int n, std::string* dst) const override {
    std::vector<const char*> begins;
    std::vector<size_t> lengths;
    for (int i = 0; i < n; ++i) {
      begins.push_back(keys[i].data());
      lengths.push_back(keys[i].size());
    }
    size_t bytes = 0;
    char* const made = create_filter_(state_, begins.data(), lengths.data(), n, &bytes);
    dst->append(made, bytes);
    std::free(made);
  }
  bool KeyMayMatch(const db::Slice& key, const db::Slice& filter) const override {
    return key_may_match_(state_, key.data(), key.size(), filter.data(), filter.size()) != 0;
  }

 private:
  void* state_;
  void (*destructor_)(void*);
  create create_filter_;
  ask key_may_match_;
  const char* (*name_)(void*);
};

class policy_of_bloom final : public leveldb_filterpolicy_t {
 public:
  explicit policy_of_bloom(int bits_per_key) : of_(db::NewBloomFilterPolicy(bits_per_key)) {}

  const char* Name() const override { return of_->Name(); }
  void CreateFilter(const db::Slice* keys, int n, std::string* dst) const override {
    of_->CreateFilter(keys, n, dst);
  }
  bool KeyMayMatch(const db::Slice& key, const db::Slice& filter) const override {
    return of_->KeyMayMatch(key, filter);
  }

 private:
  std::unique_ptr<const db::FilterPolicy> of_;
};

class caller_of_functions final : public db::WriteBatch::Handler {
 public:
  using put = void (*)(void*, const char*, size_t, const char*, size_t);
  using deleted = void (*)(void*, const char*, size_t);

  caller_of_functions(void* state, put each_put, deleted each_deletion)
      : state_(state), put_(each_put), deleted_(each_deletion) {}

  void Put(const db::Slice& key, const db::Slice& value) override {
    put_(state_, key.data(), key.size(), value.data(), value.size());
  }
  void Delete(const db::Slice& key) override { deleted_(state_, key.data(), key.size()); }

 private:
  void* state_;
  put put_;
  deleted deleted_;
};

}  // namespace

extern "C" {

leveldb_t* leveldb_open(const leveldb_options_t* options, const char* name, char** errptr) {
  db::DB* opened = nullptr;
  if (!report(db::DB::Open(options->of, name, &opened), errptr)) return nullptr;
  return new leveldb_t{std::unique_ptr<db::DB>(opened)};
}
void leveldb_close(leveldb_t* db) { delete db; }

void leveldb_put(leveldb_t* db, const leveldb_writeoptions_t* options, const char* key,
                 size_t keylen, const char* val, size_t vallen, char** errptr) {
  report(db->of->Put(options->of, {key, keylen}, {val, vallen}), errptr);
}
void leveldb_delete(leveldb_t* db, const leveldb_writeoptions_t* options, const char* key,
                    size_t keylen, char** errptr) {
  report(db->of->Delete(options->of, {key, keylen}), errptr);
}
void leveldb_write(leveldb_t* db, const leveldb_writeoptions_t* options,
                   leveldb_writebatch_t* batch, char** errptr) {
  report(db->of->Write(options->of, &batch->of), errptr);
}

char* leveldb_get(leveldb_t* db, const leveldb_readoptions_t* options, const char* key,
                  size_t keylen, size_t* vallen, char** errptr) {
  *vallen = 0;
  std::string value;
  const db::Status status = db->of->Get(options->of, {key, keylen}, &value);
  if (status.IsNotFound() || !report(status, errptr)) return nullptr;
  *vallen = value.size();
  return copy_of(value);
}

leveldb_iterator_t* leveldb_create_iterator(leveldb_t* db, const leveldb_readoptions_t* options) {
  return new leveldb_iterator_t{std::unique_ptr<db::Iterator>(db->of->NewIterator(options->of))};
}

const leveldb_snapshot_t* leveldb_create_snapshot(leveldb_t* db) {
  return new leveldb_snapshot_t{db->of->GetSnapshot()};
}
void leveldb_release_snapshot(leveldb_t* db, const leveldb_snapshot_t* snapshot) {
  db->of->ReleaseSnapshot(snapshot->of);
  delete snapshot;
}

char* leveldb_property_value(leveldb_t* db, const char* propname) {
  std::string value;
  return db->of->GetProperty(propname, &value) ? copy_of(value) : nullptr;
}

void leveldb_approximate_sizes(leveldb_t* db, int num_ranges, const char* const* range_start_key,
                               const size_t* range_start_key_len,
                               const char* const* range_limit_key,
                               const size_t* range_limit_key_len, uint64_t* sizes) {
  std::vector<db::Range> ranges;
  for (int i = 0; i < num_ranges; ++i) {
    ranges.emplace_back(db::Slice(range_start_key[i], range_start_key_len[i]),
                        db::Slice(range_limit_key[i], range_limit_key_len[i]));
  }
  db->of->GetApproximateSizes(ranges.data(), num_ranges, sizes);
}

void leveldb_compact_range(leveldb_t* db, const char* start_key, size_t start_key_len,
                           const char* limit_key, size_t limit_key_len) {
  const db::Slice start(start_key, start_key_len);
  const db::Slice limit(limit_key, limit_key_len);
  db->of->CompactRange(start_key == nullptr ? nullptr : &start,
                       limit_key == nullptr ? nullptr : &limit);
}

void leveldb_destroy_db(const leveldb_options_t* options, const char* name, char** errptr) {
  report(db::DestroyDB(name, options->of), errptr);
}
void leveldb_repair_db(const leveldb_options_t* options, const char* name, char** errptr) {
  report(db::RepairDB(name, options->of), errptr);
}

void leveldb_iter_destroy(leveldb_iterator_t* iter) { delete iter; }
uint8_t leveldb_iter_valid(const leveldb_iterator_t* iter) { return iter->of->Valid() ? 1 : 0; }
void leveldb_iter_seek_to_first(leveldb_iterator_t* iter) { iter->of->SeekToFirst(); }
void leveldb_iter_seek_to_last(leveldb_iterator_t* iter) { iter->of->SeekToLast(); }
void leveldb_iter_seek(leveldb_iterator_t* iter, const char* k, size_t klen) {
  iter->of->Seek({k, klen});
}
void leveldb_iter_next(leveldb_iterator_t* iter) { iter->of->Next(); }
void leveldb_iter_prev(leveldb_iterator_t* iter) { iter->of->Prev(); }
const char* leveldb_iter_key(const leveldb_iterator_t* iter, size_t* klen) {
  return bytes_of(iter->of->key(), klen);
}
const char* leveldb_iter_value(const leveldb_iterator_t* iter, size_t* vlen) {
  return bytes_of(iter->of->value(), vlen);
}
void leveldb_iter_get_error(const leveldb_iterator_t* iter, char** errptr) {
  report(iter->of->status(), errptr);
}

leveldb_writebatch_t* leveldb_writebatch_create() { return new leveldb_writebatch_t; }
void leveldb_writebatch_destroy(leveldb_writebatch_t* batch) { delete batch; }
void leveldb_writebatch_clear(leveldb_writebatch_t* batch) { batch->of.Clear(); }
void leveldb_writebatch_put(leveldb_writebatch_t* batch, const char* key, size_t klen,
                            const char* val, size_t vlen) {
  batch->of.Put({key, klen}, {val, vlen});
}
void leveldb_writebatch_delete(leveldb_writebatch_t* batch, const char* key, size_t klen) {
  batch->of.Delete({key, klen});
}
void leveldb_writebatch_iterate(const leveldb_writebatch_t* batch, void* state,
                                void (*put)(void*, const char* k, size_t klen, const char* v,
                                            size_t vlen),
                                void (*deleted)(void*, const char* k, size_t klen)) {
  caller_of_functions caller(state, put, deleted);
  static_cast<void>(batch->of.Iterate(&caller));  // the function cannot return a status
}
void leveldb_writebatch_append(leveldb_writebatch_t* destination,
                               const leveldb_writebatch_t* source) {
  destination->of.Append(source->of);
}

leveldb_options_t* leveldb_options_create() { return new leveldb_options_t; }
void leveldb_options_destroy(leveldb_options_t* options) { delete options; }
void leveldb_options_set_comparator(leveldb_options_t* options, leveldb_comparator_t* comparator) {
  options->of.comparator = comparator;
}
void leveldb_options_set_filter_policy(leveldb_options_t* options, leveldb_filterpolicy_t* policy) {
  options->of.filter_policy = policy;
}
void leveldb_options_set_create_if_missing(leveldb_options_t* options, uint8_t on) {
  options->of.create_if_missing = on != 0;
}
void leveldb_options_set_error_if_exists(leveldb_options_t* options, uint8_t on) {
  options->of.error_if_exists = on != 0;
}
void leveldb_options_set_paranoid_checks(leveldb_options_t* options, uint8_t on) {
  options->of.paranoid_checks = on != 0;
}
void leveldb_options_set_env(leveldb_options_t* options, leveldb_env_t* env) {
  options->of.env = env == nullptr ? nullptr : env->of;
}
void leveldb_options_set_info_log(leveldb_options_t* options, leveldb_logger_t* logger) {
  options->of.info_log = logger == nullptr ? nullptr : logger->of;
}
void leveldb_options_set_write_buffer_size(leveldb_options_t* options, size_t bytes) {
  options->of.write_buffer_size = bytes;
}
void leveldb_options_set_max_open_files(leveldb_options_t* options, int n) {
  options->of.max_open_files = n;
}
void leveldb_options_set_cache(leveldb_options_t* options, leveldb_cache_t* cache) {
  options->of.block_cache = cache == nullptr ? nullptr : cache->of.get();
}
void leveldb_options_set_block_size(leveldb_options_t* options, size_t bytes) {
  options->of.block_size = bytes;
}
void leveldb_options_set_block_restart_interval(leveldb_options_t* options, int n) {
  options->of.block_restart_interval = n;
}
void leveldb_options_set_max_file_size(leveldb_options_t* options, size_t bytes) {
  options->of.max_file_size = bytes;
}
void leveldb_options_set_compression(leveldb_options_t* options, int type) {
  options->of.compression = static_cast<db::CompressionType>(type);
}

leveldb_comparator_t* leveldb_comparator_create(void* state, void (*destructor)(void*),
                                                int (*compare)(void*, const char* a, size_t alen,
                                                               const char* b, size_t blen),
                                                const char* (*name)(void*)) {
  return new leveldb_comparator_t(state, destructor, compare, name);
}
void leveldb_comparator_destroy(leveldb_comparator_t* comparator) { delete comparator; }

leveldb_filterpolicy_t* leveldb_filterpolicy_create(
    void* state, void (*destructor)(void*),
    char* (*create_filter)(void*, const char* const* key_array, const size_t* key_length_array,
                           int num_keys, size_t* filter_length),
    uint8_t (*key_may_match)(void*, const char* key, size_t length, const char* filter,
                             size_t filter_length),
    const char* (*name)(void*)) {
  return new policy_of_functions(state, destructor, create_filter, key_may_match, name);
}
leveldb_filterpolicy_t* leveldb_filterpolicy_create_bloom(int bits_per_key) {
  return new policy_of_bloom(bits_per_key);
}
void leveldb_filterpolicy_destroy(leveldb_filterpolicy_t* policy) { delete policy; }

leveldb_readoptions_t* leveldb_readoptions_create() { return new leveldb_readoptions_t; }
void leveldb_readoptions_destroy(leveldb_readoptions_t* options) { delete options; }
void leveldb_readoptions_set_verify_checksums(leveldb_readoptions_t* options, uint8_t on) {
  options->of.verify_checksums = on != 0;
}
void leveldb_readoptions_set_fill_cache(leveldb_readoptions_t* options, uint8_t on) {
  options->of.fill_cache = on != 0;
}
void leveldb_readoptions_set_snapshot(leveldb_readoptions_t* options,
                                      const leveldb_snapshot_t* snapshot) {
  options->of.snapshot = snapshot == nullptr ? nullptr : snapshot->of;
}

leveldb_writeoptions_t* leveldb_writeoptions_create() { return new leveldb_writeoptions_t; }
void leveldb_writeoptions_destroy(leveldb_writeoptions_t* options) { delete options; }
void leveldb_writeoptions_set_sync(leveldb_writeoptions_t* options, uint8_t on) {
  options->of.sync = on != 0;
}

leveldb_cache_t* leveldb_cache_create_lru(size_t capacity) {
  return new leveldb_cache_t{std::unique_ptr<db::Cache>(db::NewLRUCache(capacity))};
}
void leveldb_cache_destroy(leveldb_cache_t* cache) { delete cache; }

leveldb_env_t* leveldb_create_default_env() { return new leveldb_env_t{db::Env::Default()}; }
void leveldb_env_destroy(leveldb_env_t* env) { delete env; }
char* leveldb_env_get_test_directory(leveldb_env_t* env) {
  std::string path;
  return env->of->GetTestDirectory(&path).ok() ? copy_of(path) : nullptr;
}

void leveldb_free(void* ptr) { std::free(ptr); }
int leveldb_major_version() { return db::kMajorVersion; }
int leveldb_minor_version() { return db::kMinorVersion; }

}  // extern "C"
