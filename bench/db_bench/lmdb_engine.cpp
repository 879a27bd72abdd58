#include <bench/db_bench/store.hpp>

#include <filesystem>
#include <stdexcept>
#include <utility>

#include <lmdb.h>

namespace outlast::bench {
namespace {

void require(int code) {
  if (code != MDB_SUCCESS) throw std::runtime_error(mdb_strerror(code));
}

MDB_val to_val(std::string_view text) { return {text.size(), const_cast<char*>(text.data())}; }
std::string_view to_view(const MDB_val& text) {
  return {static_cast<const char*>(text.mv_data), text.mv_size};
}

/// A transaction, given up unless it was committed.
class transaction {
 public:
  transaction(MDB_env* env, unsigned flags) { require(mdb_txn_begin(env, nullptr, flags, &txn_)); }
  ~transaction() {
    if (txn_ != nullptr) mdb_txn_abort(txn_);
  }
  transaction(const transaction&) = delete;
  transaction& operator=(const transaction&) = delete;

  void commit() { require(mdb_txn_commit(std::exchange(txn_, nullptr))); }
  [[nodiscard]] MDB_txn* get() const noexcept { return txn_; }

 private:
  MDB_txn* txn_ = nullptr;
};

class lmdb_place final : public place {
 public:
  lmdb_place(MDB_env* env, MDB_dbi dbi) : reading_(env, MDB_RDONLY) {
    require(mdb_cursor_open(reading_.get(), dbi, &cursor_));
  }
  ~lmdb_place() override { mdb_cursor_close(cursor_); }

  bool to_first() override { return move(MDB_FIRST); }
  bool to_last() override { return move(MDB_LAST); }
  bool to(std::string_view key) override {
    key_ = to_val(key);
    return move(MDB_SET_RANGE);
  }
  bool to_next() override { return move(MDB_NEXT); }
  bool to_previous() override { return move(MDB_PREV); }
  std::string_view key() const override { return to_view(key_); }
  std::string_view value() const override { return to_view(value_); }

 private:
  bool move(MDB_cursor_op how) {
    const int code = mdb_cursor_get(cursor_, &key_, &value_, how);
    if (code == MDB_NOTFOUND) return false;
    require(code);
    return true;
  }

  transaction reading_;
  MDB_cursor* cursor_ = nullptr;
  MDB_val key_{};
  MDB_val value_{};
};

/// Lookups renew one transaction instead of beginning another each time, as LMDB's manual advises.
class lmdb_session final : public session {
 public:
  lmdb_session(MDB_env* env, MDB_dbi dbi) : env_(env), dbi_(dbi), reading_(env, MDB_RDONLY) {
    mdb_txn_reset(reading_.get());
  }

  void put(std::string_view key, std::string_view value) override {
    const key_and_value one{key, value};
    put_all({&one, 1});
  }
  void put_all(std::span<const key_and_value> entries) override {
    transaction writing(env_, 0);
    for (const key_and_value& one : entries) {
      MDB_val key = to_val(one.key);
      MDB_val value = to_val(one.value);
      require(mdb_put(writing.get(), dbi_, &key, &value, 0));
    }
    writing.commit();
  }
  void erase(std::string_view key) override {
    transaction writing(env_, 0);
    MDB_val wanted = to_val(key);
    const int code = mdb_del(writing.get(), dbi_, &wanted, nullptr);
    if (code != MDB_NOTFOUND) require(code);
    writing.commit();
  }
  bool get(std::string_view key, std::string& value) override {
    require(mdb_txn_renew(reading_.get()));
    MDB_val wanted = to_val(key);
    MDB_val found{};
    const int code = mdb_get(reading_.get(), dbi_, &wanted, &found);
    if (code == MDB_SUCCESS) value.assign(to_view(found));
    mdb_txn_reset(reading_.get());
    if (code != MDB_NOTFOUND) require(code);
    return code == MDB_SUCCESS;
  }
  std::unique_ptr<place> iterate() override { return std::make_unique<lmdb_place>(env_, dbi_); }

 private:
  MDB_env* env_;
  MDB_dbi dbi_;
  transaction reading_;
};

class lmdb_store final : public store {
 public:
  explicit lmdb_store(const store_settings& settings) {
    constexpr std::uint64_t default_capacity_bytes = std::uint64_t{64} << 30;
    const std::uint64_t capacity = settings.capacity_bytes;
    require(mdb_env_create(&env_));
    try {
      require(mdb_env_set_mapsize(env_, capacity != 0 ? capacity : default_capacity_bytes));
      require(mdb_env_set_maxreaders(env_, 2 * settings.threads + 126));
      std::filesystem::create_directories(settings.directory);
      require(mdb_env_open(env_, settings.directory.c_str(), MDB_NOTLS, 0644));
      transaction first(env_, 0);
      require(mdb_dbi_open(first.get(), nullptr, 0, &dbi_));
      first.commit();
    } catch (...) {
      mdb_env_close(env_);
      throw;
    }
  }
  ~lmdb_store() override {
    (void)mdb_env_sync(env_, 1);
    mdb_env_close(env_);
  }

  void sync_each_write(bool wanted) override {
    require(mdb_env_set_flags(env_, MDB_NOSYNC, wanted ? 0 : 1));
  }
  std::unique_ptr<session> connect() override { return std::make_unique<lmdb_session>(env_, dbi_); }
  void compact() override {}
  std::string describe() override {
    MDB_stat all{};
    require(mdb_env_stat(env_, &all));
    return std::to_string(all.ms_entries) + " entries, depth " + std::to_string(all.ms_depth) +
           ", pages: " + std::to_string(all.ms_branch_pages) + " branches, " +
           std::to_string(all.ms_leaf_pages) + " leaves, " + std::to_string(all.ms_overflow_pages) +
           " overflows";
  }

 private:
  MDB_env* env_ = nullptr;
  MDB_dbi dbi_ = 0;
};

std::unique_ptr<store> open(const store_settings& settings) {
  return std::make_unique<lmdb_store>(settings);
}

void destroy(const store_settings& settings) {
  for (const char* file : {"data.mdb", "lock.mdb"}) {
    std::filesystem::remove(std::filesystem::path(settings.directory) / file);
  }
}

}  // namespace

engine lmdb_engine() { return {"lmdb", mdb_version(nullptr, nullptr, nullptr), open, destroy}; }

}  // namespace outlast::bench
