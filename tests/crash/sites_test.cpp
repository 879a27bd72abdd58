// Goal: the verifier reaches every persistence site of the library. Method: executions of the whole
// catalogue from fixed seeds on the portable machine, executions that reached rare sites, and then
// rounds of the entries that pass sites in the same files, until all sites that were not passed are
// among the exceptions below. These must still be exceptions.
#include <outlast/verify/explorer/explorer.hpp>
#include <outlast/verify/explorer/program_sites.hpp>
#include <tests/catalogue/catalogue.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::test {
namespace {

constexpr std::size_t any_number = ~std::size_t{0};

/// Sites of one function that nothing reaches, and why not.
struct exception {
  std::string_view file;
  std::string_view function;
  std::size_t sites;
  bool always_compiled;  // or only where the optimizer leaves it
  std::string_view reason;
};

constexpr std::array exceptions = {
    exception{"record_reopening.hpp", "::adopt_kept(", 1, false,
              "the verifier has no index that outlives its process"},
    exception{"chain.hpp", "::try_unlink(", 1, false,
              "a name for domains that note pages; an optimizer sees that this one drops it"},
    exception{"chain.hpp", "::passed(", 1, false,
              "a lookup that meets an erased node before it is buried: one execution in thousands, "
              "as the mutant that leaves this out shows"},
    exception{"basic_list.hpp", "::min(", 1, false,
              "the least key is linked and not confirmed yet: one execution in thousands"},
    exception{"basic_list.hpp", "::max(", 1, false,
              "the greatest key is linked and not confirmed yet: one execution in thousands"},
    exception{"external_tree.hpp", "::retire_one(", 1, false,
              "a name for domains that note pages; an optimizer sees that this one drops it"},
    exception{"external_tree.hpp", "::supersede(", 1, false,
              "the fence of a retirement: the store that replaces has been waited for"},
    exception{"external_tree.hpp", "::try_unlink(", 1, false,
              "a load of a flag: only where three threads meet is its counter still up"},
    exception{"external_tree.hpp", "::retire(", 2, false,
              "loads of flags and tags: only where three threads meet are their counters still up"},
    exception{"reader.hpp", "", any_number, false,
              "flushes of readers in other processes: the counter of a link is up only while its "
              "store waits, and a reader in a short scenario rarely meets that"},
    exception{"outside_reading.hpp", "", any_number, false, "the same"},
    exception{"stack.hpp", "::pop(", 1, true,
              "the fence before a node is retired: the p-store that unlinked it has waited"},
    exception{"clock.hpp", "::note(", 1, true,
              "there is no volatile memory left to remember in what has to be written back"},
    exception{"epochs.hpp", "::leave_awaiting(", 2, true, "threads of the machine never exit"},
    exception{
        "epochs.hpp", "::retire_when_durable(", 2, true,
        "another thread takes over what the caller retires: after more epochs than a run has, "
        "or where there is no room"},
    exception{"pool_impl.hpp", "::record_file(", 2, true, "the machine's pools are in no file"},
    exception{"pool_impl.hpp", "::complete_upgrade(", 2, true,
              "the machine's pools are not converted"},
    exception{"set_operation.hpp", "::free_one(", 1, true,
              "there is no volatile memory left to remember a dead node in"},
    exception{"root_directory.hpp", "::forget_occupancy(", 1, true,
              "the pool is a file, and its machine went down where only processes may"},
    exception{"commit_log_region.hpp", "::forget_commits(", 2, true,
              "a domain with a log has left commits: the simulator has none; tests of windows"},
    exception{"commit_log_region.hpp", "::bring_in(", 5, true, "the same"},
    exception{"record_marks.hpp", "::make_mark(", 1, true,
              "there was no volatile memory for a slot of the index"},
    exception{"segments.hpp", "::write_header(", 2, true,
              "a block that was no segment has zeros at its beginning, and other bytes after them "
              "only if its pages had another use before"},
    exception{"record_writes.hpp", "::cancel(", 2, true,
              "there is no volatile memory left for a slot of the index"},
};

/// What no execution of the first round passes was first passed by these. After a change of code
/// others may be needed: the test finds them by itself, and takes minutes.
struct rare_find {
  std::string_view entry;  // structure and policy
  std::uint64_t seed;      // of the first of its executions
};

constexpr std::array rare_finds = {
    rare_find{"natarajan_tree_wide flit<hashed<4096>,nvtraverse>", 1261},
    rare_find{"natarajan_tree_ranges flit<always,manual>", 1311},
    rare_find{"skiplist flit<always,manual>", 1351},
    rare_find{"michael_scott_queue flit<hashed<4096>,nvtraverse>", 1431},
    rare_find{"link_free_skiplist_ends link_free", 1831},
    rare_find{"link_free_tree link_free", 1851},
    rare_find{"epoch_lockfree_map montage", 2281},
    rare_find{"tx_accounts cx_ptm", 2481},
    rare_find{"tx_standard_map cx_puc", 2511},
    rare_find{"harris_list flit<hashed<4096>,nvtraverse>", 2031},
    rare_find{"hash_table flit<hashed<4096>,nvtraverse>", 2141},
    rare_find{"link_free_skiplist link_free", 2811},
    rare_find{"hash_table_wide flit<adjacent,automatic>", 3191},
    rare_find{"skiplist_ends flit<adjacent,automatic>", 3381},
    rare_find{"natarajan_tree_wide flit<adjacent,automatic>", 7241},
    rare_find{"epoch_lockfree_map montage", 29281},
    rare_find{"link_free_list_ends link_free", 5201},
};

bool covers(const exception& which, const verify::program_site& at) {
  return at.text().compare(0, which.file.size() + 1, std::string(which.file) + ':') == 0 &&
         at.function.find(which.function) != std::string::npos;
}

std::size_t excepted(const exception& which, const std::vector<verify::program_site>& unreached) {
  std::size_t sites = 0;
  for (const verify::program_site& each : unreached) sites += covers(which, each) ? 1 : 0;
  return sites;
}

bool is_excepted(const verify::program_site& at) {
  return std::ranges::any_of(exceptions, [&](const exception& each) { return covers(each, at); });
}

bool is_done(const verify::site_coverage& coverage) {
  return std::ranges::all_of(coverage.unreached(), is_excepted);
}

using files = std::set<std::string>;

std::string file_of(const verify::program_site& at) {
  return at.text().substr(0, at.text().find(':'));
}

/// Explores the catalogue, and knows in which files of the library each entry has passed a site.
class exploration {
 public:
  explicit exploration(std::vector<verify::program_site> all)
      : all_(std::move(all)), coverage_(all_), passed_(verify::catalogue().size()) {}

  [[nodiscard]] const verify::site_coverage& coverage() const noexcept { return coverage_; }

  /// Adds what so many executions reach where something rare was found once.
  void add_rare(std::uint64_t executions) {
    for (const rare_find& each : rare_finds) {
      for (std::size_t i = 0; i < passed_.size(); ++i) {
        const verify::catalogue_entry& entry = verify::catalogue()[i];
        if (entry.structure + ' ' + entry.policy == each.entry) cover(i, each.seed, executions);
      }
    }
  }

  /// Adds what so many executions reach of each entry, or, later, of those that have passed files
  /// in which something is missing.
  void add_round(std::uint64_t round, std::uint64_t executions) {
    std::uint64_t seed = 1 + round * 1000;
    for (std::size_t i = 0; i < passed_.size(); ++i) {
      seed += 10;  // what is rare in scenarios is rare for each entry anew
      if (round > 0 && !may_help(i)) continue;
      // Requests to a server pass the sites of the structures below it, and take longer.
      if (verify::catalogue()[i].structure.starts_with("server_")) continue;
      cover(i, seed, executions);
    }
  }

 private:
  [[nodiscard]] bool may_help(std::size_t entry) const {
    return std::ranges::any_of(coverage_.unreached(), [&](const verify::program_site& each) {
      return !is_excepted(each) && passed_[entry].contains(file_of(each));
    });
  }
  void cover(std::size_t i, std::uint64_t seed, std::uint64_t executions) {
    const verify::catalogue_entry& entry = verify::catalogue()[i];
    const auto tested = entry.make();
    verify::options how;
    how.within = entry.within;
    how.seed = seed;
    how.seconds = 1e9;
    how.max_executions = executions;
    how.killed_one_in = 32;
    verify::explorer explorer(*tested, how);
    EXPECT_FALSE(explorer.run().found) << entry.structure << ' ' << entry.policy;
    coverage_.add(explorer.sites());
    verify::site_coverage own(all_);
    own.add(explorer.sites());
    files left;  // by file and line
    for (const verify::program_site& each : own.unreached()) left.insert(each.text());
    for (const verify::program_site& each : all_) {
      if (!left.contains(each.text())) passed_[i].insert(file_of(each));
    }
  }

  std::vector<verify::program_site> all_;
  verify::site_coverage coverage_;
  std::vector<files> passed_;
};

verify::site_coverage cover_the_catalogue() {
  constexpr std::uint64_t rounds = 60;  // thirty are enough without what is rare
  exploration explored(verify::program_sites());
  constexpr std::uint64_t executions = 40;
  explored.add_round(0, executions / 2);
  explored.add_rare(executions);
  for (std::uint64_t round = 1; round < rounds && !is_done(explored.coverage()); ++round) {
    explored.add_round(round, executions);
  }
  return explored.coverage();
}

TEST(Sites, are_all_reached_but_for_the_exceptions) {
  const verify::site_coverage coverage = cover_the_catalogue();
  std::printf("%zu of %zu sites reached\n", coverage.reached(), coverage.known());
  EXPECT_GT(coverage.known(), 100U) << "the program does not know its sites";
  const std::vector<verify::program_site> unreached = coverage.unreached();
  for (const exception& each : exceptions) {
    const std::size_t sites = excepted(each, unreached);
    EXPECT_TRUE(each.sites == any_number || sites == each.sites ||
                (sites == 0 && !each.always_compiled))
        << sites << " in " << each.file << ", " << each.function << ": " << each.reason;
  }
  for (const verify::program_site& each : unreached) {
    EXPECT_TRUE(is_excepted(each)) << each.text() << " is never reached, in " << each.function;
  }
}

TEST(Sites, of_an_entry_are_more_than_what_serves_all) {
  const std::vector<verify::program_site> all = verify::program_sites();
  for (verify::catalogue_entry entry : verify::catalogue()) {
    if (entry.type.empty()) continue;
    const std::size_t known = coverage_of(entry, all).known();
    entry.type.clear();
    EXPECT_GT(known, coverage_of(entry, all).known()) << entry.structure << ' ' << entry.policy;
  }
}

}  // namespace
}  // namespace outlast::test
