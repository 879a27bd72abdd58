#include <bench/db_bench/store.hpp>

#include <stdexcept>

namespace outlast::bench {
namespace {

class nowhere final : public place {
 public:
  bool to_first() override { return false; }
  bool to_last() override { return false; }
  bool to(std::string_view) override { return false; }
  bool to_next() override { return false; }
  bool to_previous() override { return false; }
  std::string_view key() const override { return {}; }
  std::string_view value() const override { return {}; }
};

class null_session final : public session {
 public:
  void put(std::string_view, std::string_view) override {}
  void put_all(std::span<const key_and_value>) override {}
  void erase(std::string_view) override {}
  bool get(std::string_view, std::string&) override { return false; }
  std::unique_ptr<place> iterate() override { return std::make_unique<nowhere>(); }
};

class null_store final : public store {
 public:
  void sync_each_write(bool) override {}
  std::unique_ptr<session> connect() override { return std::make_unique<null_session>(); }
  void compact() override {}
  std::string describe() override { return "keeps nothing"; }
};

std::vector<engine> all_engines() {
  std::vector<engine> all{outlast_engine(), outlast_records_engine()};
#if OUTLAST_BENCH_LEVELDB
  all.push_back(leveldb_engine());
#endif
#if OUTLAST_BENCH_ROCKSDB
  all.push_back(rocksdb_engine());
#endif
#if OUTLAST_BENCH_LMDB
  all.push_back(lmdb_engine());
#endif
#if OUTLAST_BENCH_LIBPMEMOBJ
  all.push_back(libpmemobj_engine());
#endif
#if OUTLAST_BENCH_TBB
  all.push_back(tbb_engine());
#endif
  all.push_back(unordered_map_engine());
  all.push_back(null_engine());
  return all;
}

}  // namespace

engine null_engine() {
  return {"null", "null",
          [](const store_settings&) -> std::unique_ptr<store> {
            return std::make_unique<null_store>();
          },
          [](const store_settings&) {}};
}

const std::vector<engine>& engines() {
  static const std::vector<engine> all = all_engines();
  return all;
}

const engine& find_engine(std::string_view name) {
  std::string known;
  for (const engine& one : engines()) {
    if (one.name == name) return one;
    known.append(known.empty() ? "" : ", ").append(one.name);
  }
  throw std::runtime_error("this build has no engine '" + std::string(name) + "', but " + known);
}

}  // namespace outlast::bench
