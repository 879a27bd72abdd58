#include <tests/soak/families.hpp>
#include <tests/soak/store_map.hpp>
#include <tests/soak/world.hpp>

#include <outlast/db/db.hpp>
#include <outlast/domain.hpp>
#include <outlast/pool/pool.hpp>

#include <stdexcept>
#include <utility>

namespace outlast::test::soak {
namespace {

namespace fs = std::filesystem;

template <class D>
class world_on final : public world {
 public:
  world_on(const fs::path& folder, const std::string& families, const amounts& how)
      : folder_(folder) {
    pool_options wanted;
    wanted.size_bytes = std::size_t{2} << 30;
    wanted.capacity_bytes = std::size_t{2} << 30;
    wanted.log_bytes = std::size_t{64} << 20;
    wanted.per_operation_device_sync = true;
    wanted.reserve_shadow_copy = true;
    pool_.reset(new basic_pool<D>(basic_pool<D>::create((folder / "pool").string(), wanted)));

    store_ = open_store(folder / "store", db::StoreEngine::kReplicas);
    records_ = open_store(folder / "records", db::StoreEngine::kRecords);

    const auto selected = [&](const char* family) {
      return families == "all" || families.find(family) != std::string::npos;
    };
    if (selected("lockfree")) add_lockfree(content_, *pool_, how);
    if (selected("sets")) add_sets(content_, *pool_, how);
    if (selected("buffered")) add_buffered(content_, *pool_, how);
    if (selected("transactions")) add_transactions(content_, *pool_, how);
    if (selected("store")) add_store(content_, *store_, how);
    if (selected("records")) add_records(content_, *records_, how);
    if (selected("passing")) add_passing(content_, *pool_, (folder / "passing").string(), how);
  }

  [[nodiscard]] subjects& content() override { return content_; }
  [[nodiscard]] sample files() override {
    std::int64_t pool = 0;
    for (const auto& each : fs::directory_iterator(folder_)) {
      if (each.path().filename().string().starts_with("pool")) pool += allocated_bytes(each.path());
    }
    return {{"pool-blocks", pool},
            {"store-blocks", allocated_bytes(folder_ / "store")},
            {"records-blocks", allocated_bytes(folder_ / "records")}};
  }
  [[nodiscard]] sample stores() override {
    sample values;
    add_properties(values, "store", *store_);
    add_properties(values, "records", *records_);
    return values;
  }
  [[nodiscard]] std::string guarantee() const override { return pool_->guarantee(); }
  void close() override {
    for (const auto& each : content_) each->let_go();
    content_.clear();
    store_.reset();
    records_.reset();
    pool_->close();
    for (const pool_format::finding& each : basic_pool<D>::open(pool_->path()).check()) {
      if (each.level == pool_format::severity::error) throw lost_content("pool", each.sentence);
    }
  }

 private:
  [[nodiscard]] static std::unique_ptr<db::DB> open_store(const fs::path& path,
                                                          db::StoreEngine engine) {
    db::Options options;
    options.create_if_missing = true;
    db::StoreOptions more;
    more.capacity_bytes = std::size_t{256} << 20;
    more.engine = engine;
    db::DB* opened = nullptr;
    require_ok(db::DB::Open(options, more, path.string(), &opened));
    return std::unique_ptr<db::DB>(opened);
  }
  static void add_properties(sample& to, const std::string& store, db::DB& of) {
    for (const std::string name :
         {"live-bytes", "retained-bytes", "free-bytes", "log-bytes", "ring-bytes"}) {
      std::string text;
      if (!of.GetProperty("outlast." + name, &text)) {
        throw lost_content(store, "it has no property outlast." + name);
      }
      to[store + "-" + name] = std::stoll(text);
    }
  }

  fs::path folder_;
  std::unique_ptr<basic_pool<D>> pool_;
  std::unique_ptr<db::DB> store_;    // of replicas
  std::unique_ptr<db::DB> records_;  // a store, too
  subjects content_;
};

}  // namespace

std::unique_ptr<world> make_world(const std::string& medium, const fs::path& folder,
                                  const std::string& families) {
  if (medium == "memory") {
    const amounts how{.quick = 6000, .waiting = 6000, .tiny = 100};
    return std::make_unique<world_on<domain::native>>(folder, families, how);
  }
  if (medium == "disk") {
    const amounts how{.quick = 2000, .waiting = 60, .tiny = 20};
    return std::make_unique<world_on<domain::logged_file>>(folder, families, how);
  }
  throw std::invalid_argument("there is no medium " + medium + ": there are memory and disk");
}

}  // namespace outlast::test::soak
