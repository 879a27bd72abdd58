// Goal: program_sites() finds all persistence sites, including those that no run has passed.
// Method: planted functions with sites, one called and one never; names of functions as the two
// compilers spell them.
#include <outlast/domain/adr.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/verify/explorer/program_sites.hpp>
#include <outlast/verify/machine/machine.hpp>
#include <outlast/verify/machine/simulated.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace outlast::test {
namespace {

using verify::program_site;
using verify::site_coverage;

// ---- What is planted ----

struct lines {
  unsigned begin;
  unsigned end;
};

template <class D>
struct planted_policy {};

template <class Value, class Policy>
struct planted;

template <class Value, class D>
struct planted<Value, planted_policy<D>> {
  static constexpr lines passed_lines = {__LINE__, __LINE__ + 4};
  static void passed(std::atomic<Value>& word) {
    D::store(word, 1, std::memory_order_release);
    domain::persist<D>(&word, sizeof word);
  }

  static constexpr lines never_passed_lines = {__LINE__, __LINE__ + 4};
  static void never_passed(std::atomic<Value>& word) {
    if (D::load(word, std::memory_order_acquire) == 2) D::pwb(&word);
    D::pfence();
  }
};

/// Serves every structure.
template <class D>
struct planted_for_all {
  static constexpr lines all_lines = {__LINE__, __LINE__ + 2};
  static void never_passed() { D::psync(); }

  static constexpr lines volatile_lines = {__LINE__, __LINE__ + 4};
  static void in_volatile_memory(domain::volatile_word<D, std::uint64_t>& word) {
    word.store(word.load(std::memory_order_acquire) + 1, std::memory_order_release);
    word.fetch_add(1, std::memory_order_relaxed);
  }
};

template <class D>
using words = planted<std::uint64_t, planted_policy<D>>;
using tested = words<domain::simulated>;
using halves = planted<std::uint32_t, planted_policy<domain::simulated>>;
using for_all = planted_for_all<domain::simulated>;

/// Makes the compiler emit what is never called.
template <class Function>
void keep(Function* function) {
  [[maybe_unused]] static Function* volatile kept;
  kept = function;
}

void keep_what_is_planted() {
  keep(&tested::passed);
  keep(&tested::never_passed);
  keep(&halves::never_passed);
  keep(&words<domain::adr>::never_passed);
  keep(&for_all::never_passed);
  keep(&for_all::in_volatile_memory);
}

std::vector<program_site> sites_in(lines wanted) {
  keep_what_is_planted();
  std::vector<program_site> sites = verify::program_sites();
  const auto elsewhere = [&](const program_site& each) {
    return each.file != __FILE__ || each.line < wanted.begin || each.line > wanted.end;
  };
  sites.erase(std::remove_if(sites.begin(), sites.end(), elsewhere), sites.end());
  return sites;
}

std::vector<program_site> all_planted() { return sites_in({1, 1'000'000}); }

bool has_one_in(const std::vector<program_site>& sites, lines wanted) {
  return std::any_of(sites.begin(), sites.end(), [&](const program_site& each) {
    return wanted.begin <= each.line && each.line <= wanted.end;
  });
}

/// What a machine has seen on which the planted function was called that is.
verify::site_table run() {
  keep_what_is_planted();
  verify::machine machine(1 << 16, 1, {}, {});
  auto& word = *reinterpret_cast<std::atomic<std::uint64_t>*>(machine.memory().bytes().data());
  EXPECT_FALSE(machine.run_alone([&] { tested::passed(word); }));
  return machine.sites();
}

// ---- The list ----

TEST(ProgramSites, holds_what_was_never_passed) {
  const std::vector<program_site> sites = sites_in(tested::never_passed_lines);
  std::vector<unsigned> found;
  for (const program_site& each : sites) found.push_back(each.line);
  const unsigned begin = tested::never_passed_lines.begin;
  // The flush and the fence, each compiled for two types. The load is no site.
  EXPECT_THAT(found, testing::ElementsAre(begin + 2, begin + 2, begin + 3, begin + 3));
}

TEST(ProgramSites, holds_what_was_compiled_for_the_simulated_domain_only) {
  for (const program_site& each : all_planted()) {
    EXPECT_THAT(each.function, testing::HasSubstr("domain::simulated"));
  }
}

TEST(ProgramSites, holds_no_access_of_volatile_memory) {
  EXPECT_THAT(sites_in(for_all::volatile_lines), testing::IsEmpty());
}

TEST(ProgramSites, names_a_file_without_its_folders) {
  EXPECT_EQ((program_site{"/a/b/c.hpp", 12, 3, {}}.text()), "c.hpp:12:3");
}

// ---- Coverage ----

TEST(SiteCoverage, tells_what_was_reached_from_what_was_not) {
  site_coverage of_all(all_planted());
  EXPECT_EQ(of_all.known(), 5U);  // store, persist; pwb, pfence; psync
  EXPECT_EQ(of_all.reached(), 0U);
  of_all.add(run());
  EXPECT_EQ(of_all.known(), 5U);
  EXPECT_EQ(of_all.reached(), 2U);
  EXPECT_FALSE(has_one_in(of_all.unreached(), tested::passed_lines));
  EXPECT_TRUE(has_one_in(of_all.unreached(), tested::never_passed_lines));
  EXPECT_TRUE(has_one_in(of_all.unreached(), for_all::all_lines));
}

TEST(SiteCoverage, counts_what_was_reached_twice_once) {
  site_coverage of_all(all_planted());
  of_all.add(run());
  of_all.add(run());
  EXPECT_EQ(of_all.reached(), 2U);
}

TEST(SiteCoverage, of_one_type_holds_what_was_compiled_for_it_and_what_serves_all) {
  const std::vector<program_site> all = all_planted();
  const std::string type = verify::name_in_functions<tested>();
  const std::string other = verify::name_in_functions<halves>();
  EXPECT_EQ(site_coverage(all, type, {type, other}).known(), 5U);
  const site_coverage of_other(all, other, {type, other});
  EXPECT_EQ(of_other.known(), 3U);  // only never_passed() was compiled for it
  EXPECT_FALSE(has_one_in(of_other.unreached(), tested::passed_lines));
}

TEST(SiteCoverage, counts_what_another_type_uses_too_once_it_was_passed) {
  const std::string type = verify::name_in_functions<tested>();
  const std::string other = verify::name_in_functions<halves>();
  site_coverage of_other(all_planted(), other, {type, other});
  of_other.add(run());
  EXPECT_EQ(of_other.known(), 5U);
  EXPECT_EQ(of_other.reached(), 2U);
}

// ---- Names of functions ----

TEST(FunctionNames, of_both_compilers_become_alike) {
  const std::string both = "void a::list<int,a::flit<a::tag<4>,char>>::session::f(";
  EXPECT_THAT(verify::detail::without_parameters(
                  "void a::list<Key, Policy>::session::f(const Key&) [with Key = int; "
                  "Policy = a::flit<a::tag<4>, char>]"),
              testing::StartsWith(both));
  EXPECT_THAT(
      verify::detail::without_parameters(
          "void a::list<int, a::flit<a::tag<4>, char> >::session::f(const Key &) [Key = int, "
          "Policy = a::flit<a::tag<4>, char>]"),
      testing::StartsWith(both));
}

TEST(FunctionNames, keep_words_that_only_look_like_parameters) {
  EXPECT_EQ(verify::detail::without_parameters("void a::T::f(T) [with T = int]"),
            "void a::T::f(int);int");
}

TEST(FunctionNames, without_parameters_are_kept) {
  EXPECT_EQ(verify::detail::without_parameters("void f(int)"), "void f(int)");
  EXPECT_EQ(verify::detail::without_parameters(""), "");
}

TEST(FunctionNames, spell_types_with_their_namespaces) {
  EXPECT_THAT(verify::name_in_functions<verify::site_coverage>(), "outlast::verify::site_coverage");
  EXPECT_THAT(verify::name_in_functions<program_site>(), "outlast::verify::program_site");
}

TEST(FunctionNames, tell_an_argument) {
  EXPECT_EQ(verify::detail::argument_of("f() [with D = a<b, c>; E = {d, e}]", "E"), "{d,e}");
  EXPECT_EQ(verify::detail::argument_of("f() [D = a<b, c>, E = int]", "D"), "a<b,c>");
  EXPECT_EQ(verify::detail::argument_of("f() [D = a<b, c>, E = int]", "F"), "");
}

}  // namespace
}  // namespace outlast::test
