// What a guest runs that loses power: a table that is written to in order, and what must be found
// in it afterwards.
//
//   dax_probe describe DOMAIN POOL     what survives what, in words; the pool is made if need be
//   dax_probe write DOMAIN POOL        puts 1, 2, 3, ... for good; says "durable N" now and then
//   dax_probe check DOMAIN POOL LEAST  says "found N"; exit status 1 unless that are exactly 1 to
//                                      N, each with its value, and N is LEAST at least
//   dax_probe corrupt DOMAIN DEVICE    fills the beginning of a DAX device with other bytes
//
// DOMAIN is native, file or logged_file. One thread writes: whatever is lost, what is left is a
// beginning of the sequence. Exit status 3 if the pool is refused, which says why.
#include <outlast/base/error.hpp>
#include <outlast/base/hash.hpp>
#include <outlast/domain/file.hpp>
#include <outlast/domain/logged_file.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/pool/file/machine.hpp>
#include <outlast/pool/pool.hpp>

#include <cstdint>
#include <exception>
#include <iostream>
#include <string>
#include <type_traits>

#include <fcntl.h>
#include <sys/mman.h>

namespace {

using namespace outlast;

constexpr std::uint64_t acknowledged_together = 50;

template <class D>
class probe {
 public:
  probe(const std::string& path, bool may_be_copy)
      : pool_(basic_pool<D>::open_or_create(path, options(may_be_copy))), table_(pool_, "probe") {}

  int describe() const {
    std::cout << "survives: " << pool_detail::name_of(pool_.survives()) << '\n'
              << pool_.guarantee() << '\n';
    return 0;
  }

  /// Until the power goes.
  int write() {
    for (std::uint64_t next = found() + 1;; ++next) {
      table_.put(next, value_of(next));
      if (next % acknowledged_together == 0) std::cout << "durable " << next << std::endl;
    }
  }

  int check(std::uint64_t least) {
    const std::uint64_t all = found();
    std::cout << "found " << all << std::endl;
    for (const auto& one : pool_.check()) {
      if (one.level == pool_format::severity::error) return complain(one.sentence);
    }
    for (std::uint64_t key = 1; key <= all; ++key) {
      if (table_.get(key) != value_of(key)) return complain("wrong at " + std::to_string(key));
    }
    std::uint64_t entries = 0;
    table_.for_each([&](const auto&, const auto&) { ++entries; });
    if (entries != all) return complain("entries: " + std::to_string(entries));
    return all >= least ? 0 : complain("wanted at least " + std::to_string(least));
  }

 private:
  static pool_options options(bool may_be_copy) {
    pool_options chosen;
    chosen.open_torn = may_be_copy;
    chosen.size_bytes = std::size_t{16} << 20;
    chosen.log_bytes = std::size_t{1} << 20;
    chosen.per_operation_device_sync = true;
    return chosen;
  }
  static std::uint64_t value_of(std::uint64_t key) { return base::mix64(key) | 1; }

  static int complain(const std::string& what) {
    std::cout << what << std::endl;
    return 1;
  }

  /// How many keys are there from 1 on without a gap.
  std::uint64_t found() const {
    std::uint64_t next = 1;
    while (table_.contains(next)) ++next;
    return next - 1;
  }

  basic_pool<D> pool_;
  lockfree::hash_table<std::uint64_t, std::uint64_t,
                       durable::flit<durable::tag::adjacent, durable::automatic, D>>
      table_;
};

template <class D>
int run(const std::string& what, const std::string& path, std::uint64_t least) {
  // What is taken out of the image of a disk is a copy. Its pages are of one moment.
  const bool may_be_copy = what == "check" && std::is_same_v<D, domain::file>;
  probe<D> on(path, may_be_copy);
  if (what == "describe") return on.describe();
  return what == "write" ? on.write() : on.check(least);
}

/// What lay on the device is gone, and what is there looks like nothing.
int corrupt_bytes(const std::string& device) {
  constexpr std::size_t bytes = std::size_t{64} << 20;
  const int fd = ::open(device.c_str(), O_RDWR | O_CLOEXEC);
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) return 1;
  auto* const words = static_cast<std::uint64_t*>(mapped);
  for (std::size_t i = 0; i < bytes / sizeof *words; ++i) words[i] = base::mix64(i) | 1;
  return ::munmap(mapped, bytes);
}

int usage() {
  std::cerr
      << "usage: dax_probe describe|write|check|corrupt native|file|logged_file POOL [LEAST]\n";
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return usage();
  const std::string domain = argv[2];
  const std::uint64_t least = argc > 4 ? std::stoull(argv[4]) : 0;
  try {
    if (std::string(argv[1]) == "corrupt") return corrupt_bytes(argv[3]);
    if (domain == "native") return run<outlast::domain::native>(argv[1], argv[3], least);
    if (domain == "file") return run<outlast::domain::file>(argv[1], argv[3], least);
    if (domain == "logged_file") return run<outlast::domain::logged_file>(argv[1], argv[3], least);
  } catch (const outlast::error& refused) {
    std::cout << refused.what() << std::endl;
    return 3;
  } catch (const std::exception& failure) {
    std::cout << failure.what() << std::endl;
    return 1;
  }
  return usage();
}
