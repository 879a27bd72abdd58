// backup_kills run DOMAIN DIRECTORY: changes a pool and makes backups of it until it is killed.
// backup_kills check DOMAIN DIRECTORY FILE NUMBER: checks the backup with this number.
// backup_kills check DOMAIN DIRECTORY FILE: checks the pool that was killed.
// Exit status 0: nothing is wrong.
//
// Each thread writes ascending numbers, each of them to one structure after the other. The
// structures keep the last `window` numbers of each thread.
#include <outlast/base/error.hpp>
#include <outlast/containers/red_black_tree.hpp>
#include <outlast/domain.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/epoch/hash_map.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/sets/soft_hash.hpp>
#include <outlast/tx/redo_opt.hpp>
#include <tests/ends/backup_kills.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace outlast::test::ends {
namespace {

namespace fs = std::filesystem;
using u64 = std::uint64_t;

constexpr u64 window = 1000;
constexpr u64 copy_of_key = u64{1} << 32;

u64 key_of(unsigned thread, u64 number) { return thread * window + number % window; }

kill_records& map_records(const std::string& directory) {
  const int file = ::open((directory + "/records").c_str(), O_RDWR | O_CLOEXEC);
  void* const at =
      ::mmap(nullptr, sizeof(kill_records), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) throw std::runtime_error("cannot map the records in " + directory);
  ::close(file);
  return *static_cast<kill_records*>(at);
}

[[noreturn]] void throw_wrong(const std::string& what, unsigned thread, u64 number, u64 other) {
  throw std::runtime_error(what + ", thread " + std::to_string(thread) + ": " +
                           std::to_string(number) + " and " + std::to_string(other));
}

/// Returns the greatest number that a structure has of a thread. Throws if one of the window is
/// missing.
template <class Get>
u64 last_number(const char* name, unsigned thread, const Get& get) {
  u64 last = 0;
  for (u64 i = 0; i < window; ++i) last = std::max(last, get(key_of(thread, i)).value_or(0));
  for (u64 number = last > window ? last - window + 1 : 1; number < last; ++number) {
    const u64 found = get(key_of(thread, number)).value_or(0);
    if (found != number) throw_wrong(std::string("missing in ") + name, thread, number, found);
  }
  return last;
}

/// The structures of a pool, in the order in which a thread writes to them.
template <class D>
class structures {
  using ledger = containers::red_black_tree<u64, u64>;

 public:
  explicit structures(basic_pool<D>& in)
      : table_(in, "table"),
        set_(in, "set"),
        manager_(in, "transactions", options()),
        buffered_(in, "buffered") {}

  void put(unsigned thread, u64 number) {
    put_in_table(thread, number);
    put_in_set(thread, number);
    put_in_ledger(thread, number);
    put_buffered(thread, number);
  }
  void sync() { buffered_.sync(); }

  /// Writes the numbers that a kill has kept only in the first structures.
  u64 catch_up(unsigned thread) {
    const u64 last = in_table(thread);
    for (u64 number = in_set(thread) + 1; number <= last; ++number) put_in_set(thread, number);
    for (u64 number = in_ledger(thread) + 1; number <= last; ++number) {
      put_in_ledger(thread, number);
    }
    const u64 first = std::max(in_buffered(thread) + 1, last > window ? last - window + 1 : 1);
    for (u64 number = first; number <= last; ++number) put_buffered(thread, number);
    return last;
  }

  /// Throws if this is not the state of one moment between the bounds.
  void check(unsigned thread, u64 acknowledged, u64 synced, u64 begun) {
    const u64 first = in_table(thread);
    if (first < acknowledged) throw_wrong("acknowledged and lost", thread, acknowledged, first);
    if (first > begun) throw_wrong("later than the backup", thread, begun, first);
    const u64 second = in_set(thread);
    if (second > first || second + 1 < first) throw_wrong("set", thread, first, second);
    const u64 third = in_ledger(thread);
    if (third > second || third + 1 < second) throw_wrong("ledger", thread, second, third);
    if (third < acknowledged || second < acknowledged) throw_wrong("lost", thread, second, third);
    const u64 last = in_buffered(thread);
    if (last > third || last < synced) throw_wrong("buffered", thread, last, synced);
  }

 private:
  static tx::options options() {
    tx::options wanted{.replica_bytes = std::size_t{4} << 20};
    if constexpr (domain::logs_lines<D>) wanted.max_unsynced_time = std::chrono::milliseconds(10);
    return wanted;
  }

  void put_in_table(unsigned thread, u64 number) { table_.put(key_of(thread, number), number); }
  void put_in_set(unsigned thread, u64 number) { set_.put(key_of(thread, number), number); }
  void put_in_ledger(unsigned thread, u64 number) {
    manager_.update(root(), [=](ledger& all) {
      all.put(key_of(thread, number), number);
      all.put(copy_of_key + key_of(thread, number), number);
    });
  }
  void put_buffered(unsigned thread, u64 number) { buffered_.put(key_of(thread, number), number); }

  u64 in_table(unsigned thread) {
    return last_number("table", thread, [&](u64 key) { return table_.get(key); });
  }
  u64 in_set(unsigned thread) {
    return last_number("set", thread, [&](u64 key) { return set_.get(key); });
  }
  u64 in_ledger(unsigned thread) {
    return last_number("ledger", thread, [&](u64 key) {
      return manager_.read(root(), [=](const ledger& all) -> std::optional<u64> {
        const auto number = all.get(key);
        // Half of a transaction is not a number.
        return number == all.get(copy_of_key + key) ? number : std::nullopt;
      });
    });
  }
  u64 in_buffered(unsigned thread) {
    return last_number("buffered", thread, [&](u64 key) { return buffered_.get(key); });
  }

  tx::root<ledger> root() { return manager_.template root<ledger>("ledger"); }

  lockfree::hash_table<u64, u64, durable::flit<durable::tag::adjacent, durable::automatic, D>>
      table_;
  sets::soft_hash<u64, u64, D> set_;
  tx::redo_opt<D> manager_;
  epoch::hash_map<u64, u64, D> buffered_;
};

constexpr pool_options options_of_pool{.size_bytes = std::size_t{64} << 20,
                                       .log_bytes = std::size_t{1} << 20,
                                       .per_operation_device_sync = true};

void copy(const numbers_of_threads& from, numbers_of_threads& to) {
  for (unsigned i = 0; i < kill_threads; ++i) to[i].store(from[i].load());
}

/// Copies the pool to a pipe, from which another thread writes the file `path`. The file gets its
/// name when it is complete.
template <class Pool>
void back_up_to_pipe(const Pool& pool, const std::string& path) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("cannot make a pipe");
  std::jthread reader([&] {
    std::ofstream file(path + ".part", std::ios::binary);
    std::vector<char> bytes(65536);
    for (;;) {
      const ssize_t got = ::read(ends[0], bytes.data(), bytes.size());
      if (got <= 0) break;
      file.write(bytes.data(), got);
    }
  });
  pool.backup([&](const std::byte* bytes, std::size_t size) {
    while (size != 0) {
      const ssize_t done = ::write(ends[1], bytes, size);
      if (done <= 0) throw std::runtime_error("cannot write to the pipe");
      bytes += done;
      size -= static_cast<std::size_t>(done);
    }
  });
  ::close(ends[1]);
  reader.join();
  ::close(ends[0]);
  fs::rename(path + ".part", path);
}

template <class D>
class running_pool {
 public:
  explicit running_pool(const std::string& directory)
      : directory_(directory),
        records_(map_records(directory)),
        pool_(basic_pool<D>::open_or_create(directory + "/pool", options_of_pool)),
        all_(pool_) {}

  /// Does not return.
  [[noreturn]] void run() {
    std::vector<std::jthread> threads;
    for (unsigned thread = 0; thread < kill_threads; ++thread) {
      threads.emplace_back([this, thread] { write(thread); });
    }
    for (unsigned number = 0; number < max_kill_backups; ++number) {
      wait_for_numbers();
      back_up(number);
    }
    for (;;) ::pause();
  }

 private:
  void write(unsigned thread) {
    for (u64 number = all_.catch_up(thread) + 1;; ++number) {
      records_.begun[thread].store(number);
      all_.put(thread, number);
      records_.acknowledged[thread].store(number);
    }
  }

  /// Each thread writes some numbers between two backups.
  void wait_for_numbers() const {
    for (unsigned thread = 0; thread < kill_threads; ++thread) {
      const u64 before = records_.acknowledged[thread].load();
      while (records_.acknowledged[thread].load() < before + 10) std::this_thread::yield();
    }
  }

  void back_up(unsigned number) {
    backup_bounds& bounds = records_.backups[number];
    copy(records_.acknowledged, bounds.synced);
    all_.sync();
    copy(records_.acknowledged, bounds.acknowledged);
    records_.makes_backups.store(true);
    const std::string path = directory_ + "/backup" + std::to_string(number);
    if (number % 2 == 0) {
      pool_.backup(path);
    } else {
      back_up_to_pipe(pool_, path);
    }
    copy(records_.begun, bounds.begun);
    bounds.has_returned.store(true);
  }

  std::string directory_;
  kill_records& records_;
  basic_pool<D> pool_;
  structures<D> all_;
};

/// `number`: empty for the pool itself.
template <class D>
void check(const std::string& directory, const std::string& file, const std::string& number) {
  const kill_records& records = map_records(directory);
  auto pool = basic_pool<D>::open(file, options_of_pool);
  if (!pool.was_dirty()) throw std::runtime_error("the copy seems to be closed");
  {
    structures<D> all(pool);
    for (unsigned thread = 0; thread < kill_threads; ++thread) {
      if (number.empty()) {
        all.check(thread, records.acknowledged[thread].load(), 0, records.begun[thread].load());
        continue;
      }
      const backup_bounds& of = records.backups[std::stoul(number)];
      all.check(thread, of.acknowledged[thread].load(), of.synced[thread].load(),
                (of.has_returned.load() ? of.begun : records.begun)[thread].load());
    }
  }
  pool.close();
}

template <class D>
void run_or_check(const std::vector<std::string>& arguments) {
  if (arguments[1] == "run") running_pool<D>(arguments[3]).run();
  check<D>(arguments[3], arguments.at(4), arguments.size() > 5 ? arguments[5] : "");
}

}  // namespace
}  // namespace outlast::test::ends

int main(int count, char** values) {
  using namespace outlast;
  const std::vector<std::string> arguments(values, values + count);
  if (count < 4) return 1;
  ::alarm(120);
  try {
    if (arguments[2] == "native") {
      test::ends::run_or_check<domain::native>(arguments);
    } else {
      test::ends::run_or_check<domain::logged_file>(arguments);
    }
    return 0;
  } catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 2;
  }
}
