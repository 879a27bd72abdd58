// The pool's allocator beside jemalloc and mimalloc: blocks that one thread allocates and frees,
// and blocks that one thread allocates and another frees. The rivals are loaded at run time, so
// that their malloc never becomes ours; one that is not installed is reported as missing and left
// out.
//
// Figures are million blocks (allocated, first word written, freed) per second, all threads
// together.
#include <bench/micro/micro.hpp>

#include <outlast/alloc/arena.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/pool/pages/page_space.hpp>

#include <dlfcn.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace outlast::bench {
namespace {

using clock = std::chrono::steady_clock;
using domain_used = domain::process;

/// Pool memory without a file: what is measured is the allocator, not the file system.
class anonymous_pool {
 public:
  anonymous_pool() : memory_(map()), pages_(geometry(), [](std::uint32_t, std::uint32_t) {}) {
    pages_.load();
  }
  anonymous_pool(const anonymous_pool&) = delete;
  anonymous_pool& operator=(const anonymous_pool&) = delete;
  ~anonymous_pool() { ::munmap(memory_, size); }

  [[nodiscard]] page_space<domain_used>& pages() noexcept { return pages_; }

 private:
  static constexpr std::size_t size = std::size_t{1} << 30;
  static constexpr std::uint32_t page_count = size / pool_format::page_size;

  static std::byte* map() {
    void* const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    return static_cast<std::byte*>(at);
  }
  [[nodiscard]] page_space<domain_used>::geometry geometry() const noexcept {
    auto* const lines = reinterpret_cast<pool_format::page_line*>(memory_);
    return {memory_, lines, page_count / 64, page_count, page_count};
  }

  std::byte* memory_;
  page_space<domain_used> pages_;
};

struct ours {
  alloc::arena<domain_used>* arena;
  [[nodiscard]] void* allocate(std::size_t bytes) const { return arena->allocate(bytes); }
  void deallocate(void* block) const noexcept { arena->deallocate(block); }
};

struct rival {
  std::string name;
  void* (*allocate_function)(std::size_t) = nullptr;
  void (*deallocate_function)(void*) = nullptr;
  std::string missing_because = {};

  [[nodiscard]] void* allocate(std::size_t bytes) const { return allocate_function(bytes); }
  void deallocate(void* block) const noexcept { deallocate_function(block); }
};

/// The rival's own functions, from its library; none where the library is missing, or where it was
/// not linked and wants thread-local storage that only linked libraries get. The library stays
/// loaded: threads may still hold its memory when they exit.
rival load_rival(const char* name, const std::vector<const char*>& libraries,
                 const char* allocate_name, const char* deallocate_name) {
  rival result{name};
  for (const char* const library : libraries) {
    void* const handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      result.missing_because = ::dlerror();
      continue;
    }
    result.allocate_function =
        reinterpret_cast<void* (*)(std::size_t)>(::dlsym(handle, allocate_name));
    result.deallocate_function =
        reinterpret_cast<void (*)(void*)>(::dlsym(handle, deallocate_name));
    break;
  }
  return result;
}

/// The size of the i-th request.
struct sizes {
  std::string name;
  std::size_t fixed = 0;  ///< 0: mixed

  [[nodiscard]] std::size_t operator()(std::uint32_t random) const noexcept {
    static constexpr std::array<std::size_t, 8> mix = {64, 96, 128, 256, 512, 1024, 2048, 4096};
    return fixed != 0 ? fixed : mix[random % mix.size()];
  }
};

void touch(void* block) noexcept { *static_cast<volatile std::uint64_t*>(block) = 1; }

/// Starts `threads` bodies together and hands over million blocks per second.
template <class Body>
double run_together(unsigned threads, std::size_t blocks, Body&& body) {
  std::atomic<unsigned> ready{0};
  std::vector<std::thread> running;
  std::atomic<bool> go{false};
  for (unsigned t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      ready.fetch_add(1);
      while (!go.load(std::memory_order_acquire)) std::this_thread::yield();
      body(t);
    });
  }
  while (ready.load() != threads) std::this_thread::yield();
  const clock::time_point start = clock::now();
  go.store(true, std::memory_order_release);
  for (std::thread& each : running) each.join();
  const std::chrono::duration<double, std::micro> elapsed = clock::now() - start;
  return static_cast<double>(blocks) / elapsed.count();
}

/// Each thread replaces random ones of its 512 blocks.
template <class Allocator>
void replace_blocks(const Allocator& allocator, const sizes& size, std::size_t rounds,
                    std::uint32_t seed) {
  std::array<void*, 512> held{};
  std::uint32_t random = seed * 2654435761U + 1;
  for (std::size_t i = 0; i < rounds; ++i) {
    random = random * 1664525U + 1013904223U;
    void*& slot = held[random >> 23];
    if (slot != nullptr) allocator.deallocate(slot);
    slot = allocator.allocate(size(random >> 16));
    touch(slot);
  }
  for (void* const block : held) {
    if (block != nullptr) allocator.deallocate(block);
  }
}

/// Each thread allocates 1,024 blocks, then frees them in the same order.
template <class Allocator>
void allocate_in_batches(const Allocator& allocator, const sizes& size, std::size_t rounds,
                         std::uint32_t seed) {
  std::array<void*, 1024> held{};
  std::uint32_t random = seed * 2654435761U + 1;
  for (std::size_t i = 0; i < rounds; i += held.size()) {
    for (void*& slot : held) {
      random = random * 1664525U + 1013904223U;
      slot = allocator.allocate(size(random >> 16));
      touch(slot);
    }
    for (void* const block : held) allocator.deallocate(block);
  }
}

template <class Allocator>
double thread_local_batches(const Allocator& allocator, const sizes& size, unsigned threads,
                            std::size_t rounds) {
  return run_together(threads, rounds * threads,
                      [&](unsigned t) { allocate_in_batches(allocator, size, rounds, t); });
}

template <class Allocator>
double thread_local_blocks(const Allocator& allocator, const sizes& size, unsigned threads,
                           std::size_t rounds) {
  return run_together(threads, rounds * threads,
                      [&](unsigned t) { replace_blocks(allocator, size, rounds, t); });
}

/// Pointers from one thread to another, handed over in batches so that the ring costs little.
class ring {
 public:
  static constexpr std::size_t batch = 64;

  [[nodiscard]] void** next_to_fill() noexcept {
    while (filled_ - emptied_seen_by_producer_ == slots_.size()) {
      emptied_seen_by_producer_ = published_emptied_.load(std::memory_order_acquire);
      if (filled_ - emptied_seen_by_producer_ == slots_.size()) std::this_thread::yield();
    }
    return slots_[filled_ % slots_.size()].data();
  }
  void fill() noexcept { published_filled_.store(++filled_, std::memory_order_release); }
  [[nodiscard]] void** next_to_empty() noexcept {
    while (published_filled_.load(std::memory_order_acquire) == emptied_) {
      std::this_thread::yield();
    }
    return slots_[emptied_ % slots_.size()].data();
  }
  void empty() noexcept { published_emptied_.store(++emptied_, std::memory_order_release); }

 private:
  std::array<std::array<void*, batch>, 16> slots_{};
  alignas(64) std::size_t filled_ = 0;
  std::size_t emptied_seen_by_producer_ = 0;
  alignas(64) std::size_t emptied_ = 0;
  alignas(64) std::atomic<std::size_t> published_filled_{0};
  alignas(64) std::atomic<std::size_t> published_emptied_{0};
};

template <class Allocator>
void produce(const Allocator& allocator, const sizes& size, std::size_t batches, ring& through) {
  std::uint32_t random = 1;
  for (std::size_t b = 0; b < batches; ++b) {
    void** const blocks = through.next_to_fill();
    for (std::size_t i = 0; i < ring::batch; ++i) {
      random = random * 1664525U + 1013904223U;
      blocks[i] = allocator.allocate(size(random >> 16));
      touch(blocks[i]);
    }
    through.fill();
  }
}

template <class Allocator>
void consume(const Allocator& allocator, std::size_t batches, ring& through) {
  for (std::size_t b = 0; b < batches; ++b) {
    void** const blocks = through.next_to_empty();
    for (std::size_t i = 0; i < ring::batch; ++i) allocator.deallocate(blocks[i]);
    through.empty();
  }
}

template <class Allocator>
double producer_consumer(const Allocator& allocator, const sizes& size, std::size_t rounds) {
  const std::size_t batches = rounds / ring::batch + 1;
  const auto through = std::make_unique<ring>();
  return run_together(2, batches * ring::batch, [&](unsigned t) {
    if (t == 0) {
      produce(allocator, size, batches, *through);
    } else {
      consume(allocator, batches, *through);
    }
  });
}

enum class pattern { replace, batches, producer_consumer };

struct workload {
  std::string name;
  pattern kind;
  unsigned threads;
};

class allocator_benchmark {
 public:
  allocator_benchmark(const micro_settings& settings, const micro_sink& sink)
      : sink_(sink),
        rounds_(settings.quick ? 200'000 : 2'000'000),
        repetitions_(settings.quick ? 3 : 9),
        arena_(pool_.pages(), 1) {
    rivals_.push_back(
        load_rival("jemalloc", {"libjemalloc.so.2", "libjemalloc.so"}, "malloc", "free"));
    rivals_.push_back(load_rival("mimalloc",
                                 {"libmimalloc.so.2", "libmimalloc.so.2.0", "libmimalloc.so"},
                                 "mi_malloc", "mi_free"));
  }

  void measure() {
    for (const rival& each : rivals_) {
      if (each.allocate_function == nullptr) {
        sink_(
            {.benchmark = "allocator", .subject = each.name + " is not installed", .unit = "none"});
      }
    }
    for (const workload& work : {workload{"thread-local, 1 thread", pattern::replace, 1},
                                 workload{"thread-local, 2 threads", pattern::replace, 2},
                                 workload{"thread-local batches, 1 thread", pattern::batches, 1},
                                 workload{"thread-local batches, 2 threads", pattern::batches, 2},
                                 workload{"producer/consumer", pattern::producer_consumer, 2}}) {
      for (const sizes& size : {sizes{"64 B", 64}, sizes{"256 B", 256}, sizes{"1 KiB", 1024},
                                sizes{"4 KiB", 4096}, sizes{"64 B to 4 KiB", 0}}) {
        compare(work, size);
      }
    }
  }

 private:
  template <class Allocator>
  double once(const Allocator& allocator, const workload& work, const sizes& size) const {
    switch (work.kind) {
      case pattern::replace: return thread_local_blocks(allocator, size, work.threads, rounds_);
      case pattern::batches: return thread_local_batches(allocator, size, work.threads, rounds_);
      case pattern::producer_consumer: break;
    }
    return producer_consumer(allocator, size, rounds_);
  }

  /// Interleaved repetitions: what disturbs the machine for a while disturbs all of them.
  void compare(const workload& work, const sizes& size) {
    const ours mine{&arena_};
    std::vector<std::vector<double>> results(1 + rivals_.size());
    for (unsigned r = 0; r < repetitions_; ++r) {
      results[0].push_back(once(mine, work, size));
      for (std::size_t i = 0; i < rivals_.size(); ++i) {
        if (rivals_[i].allocate_function == nullptr) continue;
        results[i + 1].push_back(once(rivals_[i], work, size));
      }
    }
    const std::string subject = work.name + ", " + size.name;
    report("outlast, " + subject, results[0]);
    for (std::size_t i = 0; i < rivals_.size(); ++i) {
      if (results[i + 1].empty()) continue;
      report(rivals_[i].name + ", " + subject, results[i + 1]);
    }
  }

  void report(const std::string& subject, const std::vector<double>& values) const {
    sink_({.benchmark = "allocator",
           .subject = subject,
           .value = median(values),
           .unit = "M blocks/s",
           .spread = spread(values),
           .repetitions = repetitions_});
  }

  const micro_sink& sink_;
  std::size_t rounds_;
  unsigned repetitions_;
  anonymous_pool pool_;
  alloc::arena<domain_used> arena_;
  std::vector<rival> rivals_;
};

}  // namespace

void measure_allocator(const micro_settings& settings, const micro_sink& sink) {
  allocator_benchmark(settings, sink).measure();
}

}  // namespace outlast::bench
