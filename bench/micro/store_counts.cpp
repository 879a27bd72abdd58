// Flushes and fences of the store's puts: exact counts, on the domain of persistent memory. [Cor20,
// Figure 9]
//
// Others' stores cannot be counted so: they write through the kernel.
#include <bench/adapters/temporary_pool.hpp>
#include <bench/db_bench/generate.hpp>
#include <bench/micro/interleaved.hpp>
#include <outlast/base/thread_context.hpp>
#include <outlast/domain/adr.hpp>
#include <outlast/domain/counting.hpp>
#include <src/db/btree_engine.hpp>

#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace outlast::bench {
namespace {

using counted = domain::counting<domain::adr>;

struct instructions {
  std::uint64_t flushes = 0;
  std::uint64_t fences = 0;
};

/// A store on persistent memory, as far as its instructions tell.
class counted_store {
 public:
  counted_store(const std::filesystem::path& directory, std::uint64_t keys)
      : path_(unused_path(directory)) {
    constexpr std::uint64_t bytes_of_a_key = 1024;
    store_detail::store_options wanted;
    wanted.file = path_.string();
    wanted.may_create = true;
    wanted.capacity_bytes = (std::size_t{64} << 20) + keys * bytes_of_a_key;
    auto pool = std::unique_ptr<basic_pool<counted>>(new basic_pool<counted>(
        basic_pool<counted>::create(wanted.file, store_detail::pool_for(wanted))));
    in_ = std::make_unique<store_detail::btree_engine<counted>>(std::move(pool), wanted);
  }
  ~counted_store() {
    in_.reset();
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  counted_store(const counted_store&) = delete;
  counted_store& operator=(const counted_store&) = delete;

  /// Each thread's share of puts of random keys; what all of them did.
  instructions fill(unsigned threads, std::uint64_t keys) {
    std::vector<std::future<instructions>> workers;
    for (unsigned t = 0; t < threads; ++t) {
      workers.push_back(
          std::async(std::launch::async, [=, this] { return put(t, keys / threads, keys); }));
    }
    instructions sum;
    for (auto& each : workers) {
      const instructions one = each.get();
      sum.flushes += one.flushes;
      sum.fences += one.fences;
    }
    return sum;
  }

 private:
  instructions put(unsigned thread, std::uint64_t count, std::uint64_t keys) {
    constexpr std::size_t value_bytes = 100;
    xoshiro256 random(thread + 1);
    key_text key(0);
    value_text values(value_bytes, 0.5, thread);
    const base::thread_context& context = base::this_thread();
    const instructions before{context.flushes, context.fences};
    for (std::uint64_t i = 0; i < count; ++i) in_->put(key(random.below(keys)), values(), true);
    return {context.flushes - before.flushes, context.fences - before.fences};
  }

  std::filesystem::path path_;
  std::unique_ptr<store_detail::engine> in_;
};

}  // namespace

void measure_store_counts(const micro_settings& settings, const micro_sink& sink) {
  const std::uint64_t keys = settings.quick ? 2'000 : 1'000'000;
  for (const unsigned threads : threads_of(settings)) {
    counted_store store(settings.pool_directory, keys);
    for (const char* what : {"fillrandom", "overwrite"}) {
      const instructions all = store.fill(threads, keys);
      const std::string subject = on_threads(what, threads);
      const auto each = static_cast<double>(keys / threads * threads);
      sink({"store-counts", subject, static_cast<double>(all.flushes) / each, "flushes/op", 0, 1});
      sink({"store-counts", subject, static_cast<double>(all.fences) / each, "fences/op", 0, 1});
    }
  }
}

}  // namespace outlast::bench
