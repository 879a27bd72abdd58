// An ordinary program for cache_cut to run: it fills a list, a table and a cell of its own from two
// threads, and writes one byte to its output for each operation that has returned. Afterwards, on
// what a power cut left, it judges whether everything is there that it had said.
//
//   driver fill POOL OPERATIONS     creates POOL
//   driver judge POOL ACKNOWLEDGED  exit status 1 and a sentence: something is lost
//
// Exit status 2 and a sentence: the command failed, and nothing was judged.
//
// With OUTLAST_RAW_STORE defined, one store goes around the domain: a build that must be caught.
#include <outlast/base/hash.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/lockfree/harris_list.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/pool/file/file_identity.hpp>
#include <outlast/pool/file/mapped_file.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/pool.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <thread>

namespace {

using outlast::pool;
using list = outlast::lockfree::harris_list<std::uint64_t, std::uint64_t>;
using table = outlast::lockfree::hash_table<std::uint64_t, std::uint64_t>;
using policy = outlast::durable::flit<>;
using domain = policy::domain_type;
using content = std::map<std::uint64_t, std::uint64_t>;

constexpr std::size_t thread_count = 2;
constexpr std::uint64_t keys_per_thread = 8;

/// One thread's count of its operations, as a program of its own would keep it.
struct alignas(64) tally {
  policy::cell<std::uint64_t> done;

  void say(std::uint64_t count) {
#if defined(OUTLAST_RAW_STORE)
    *reinterpret_cast<volatile std::uint64_t*>(&done) = count;
#else
    done.store(count);
#endif
  }
};
using tallies = std::array<tally, thread_count>;

/// What operation `number` of a thread does.
struct step {
  bool in_list;
  bool erases;
  std::uint64_t key;
  std::uint64_t value;
};

step step_of(std::size_t thread, std::uint64_t number) {
  const std::uint64_t drawn = outlast::base::mix64(thread * 1000003 + number);
  return {drawn % 2 == 0, drawn / 2 % 3 == 0,
          thread * keys_per_thread + drawn / 8 % keys_per_thread, number};
}

template <class Map>
void apply(Map& to, const step& one) {
  if (one.erases) {
    to.erase(one.key);
  } else {
    to.put(one.key, one.value);
  }
}

void apply(content& to, const step& one) {
  if (one.erases) {
    to.erase(one.key);
  } else {
    to[one.key] = one.value;
  }
}

/// The counts, in a root of their own.
tallies& attach_tallies(pool& in) {
  const auto root = in.attach_root("tallies", "tallies", 1, false);
  if (root.state != outlast::root_state::fresh) {
    return *reinterpret_cast<tallies*>(in.base() + root.object_offset);
  }
  void* const memory = in.pages().allocate_run(
      outlast::pool_format::run_kind::large, root.index,
      static_cast<std::uint8_t>(outlast::pool_format::recovery_mode::trace), 1, sizeof(tallies));
  auto* const fresh = new (memory) tallies;
  outlast::domain::persist<domain>(fresh, sizeof *fresh);
  in.publish_root(root.index, fresh);
  return *fresh;
}

/// A mapping that a real machine would have on persistent memory.
void pretend_persistent_memory() {
  outlast::pool_detail::test_hooks().mapping = outlast::domain::kind::adr;
}

int fill(const std::string& path, std::uint64_t operations) {
  auto target = pool::create(path, {.size_bytes = 1 << 20, .capacity_bytes = 1 << 20});
  if (target.survives() != outlast::domain::kind::adr) return 2;
  {
    list in_list(target, "list");
    table in_table(target, "table", {.buckets = 2, .growth_check_interval = 4});
    tallies& counts = attach_tallies(target);
    const auto work = [&](std::size_t thread) {
      for (std::uint64_t number = 1; number <= operations; ++number) {
        const step one = step_of(thread, number);
        if (one.in_list) {
          apply(in_list, one);
        } else {
          apply(in_table, one);
        }
        counts[thread].say(number);
        const char done = static_cast<char>('0' + thread);
        if (::write(STDOUT_FILENO, &done, 1) != 1) std::_Exit(2);
      }
    };
    std::thread second(work, 1);
    work(0);
    second.join();
  }
  target.close();
  return 0;
}

/// What one thread's keys must hold after its first `count` operations.
struct expected {
  content of_list;
  content of_table;

  expected(std::size_t thread, std::uint64_t count) {
    for (std::uint64_t number = 1; number <= count; ++number) {
      const step one = step_of(thread, number);
      apply(one.in_list ? of_list : of_table, one);
    }
  }
  friend bool operator==(const expected&, const expected&) = default;
};

template <class Map>
content content_of(const Map& from, std::size_t thread) {
  content found;
  from.for_each([&](std::uint64_t key, std::uint64_t value) {
    if (key / keys_per_thread == thread) found[key] = value;
  });
  return found;
}

int judge(const std::string& path, const std::string& acknowledged) {
  std::ifstream in(acknowledged, std::ios::binary);
  const std::string said{std::istreambuf_iterator<char>(in), {}};
  // The image stands for the same file after the cut, not for a copy of it.
  {
    const outlast::pool_detail::unique_fd image(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    outlast::pool_detail::adopt_copy(path, image.get());
  }
  auto target = pool::open(path);
  const list in_list(target, "list");
  const table in_table(target, "table");
  const tallies& counts = attach_tallies(target);
  int status = 0;
  for (std::size_t thread = 0; thread < thread_count; ++thread) {
    const auto count = static_cast<std::uint64_t>(
        std::count(said.begin(), said.end(), static_cast<char>('0' + thread)));
    expected found(thread, 0);
    found.of_list = content_of(in_list, thread);
    found.of_table = content_of(in_table, thread);
    // The operation that was under way may be there or not.
    if (found != expected(thread, count) && found != expected(thread, count + 1)) {
      std::printf("thread %zu: keys are not as its %llu operations left them\n", thread,
                  static_cast<unsigned long long>(count));
      status = 1;
    }
    const std::uint64_t told = counts[thread].done.load();
    if (told != count && told != count + 1) {
      std::printf("thread %zu: counted %llu, acknowledged %llu\n", thread,
                  static_cast<unsigned long long>(told), static_cast<unsigned long long>(count));
      status = 1;
    }
  }
  return status;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) return 2;
  const std::string_view command = arguments[1];
  try {
    pretend_persistent_memory();
    if (command == "fill") return fill(arguments[2], std::strtoull(arguments[3], nullptr, 10));
    if (command == "judge") return judge(arguments[2], arguments[3]);
  } catch (const std::exception& failure) {
    std::printf("%s\n", failure.what());
  }
  return 2;
}
