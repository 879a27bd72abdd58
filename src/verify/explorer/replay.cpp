// Replays of failures, mutants by name, and the main function of verifying programs.
#include <outlast/verify/explorer/replay.hpp>

#include <outlast/base/error.hpp>

#include <algorithm>
#include <charconv>
#include <exception>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>

namespace outlast::verify {
namespace {

/// How long a run may be that only finds out which flushes and fences are passed.
constexpr std::uint64_t brief = 2000;

[[noreturn]] void refuse(const std::string& what) { throw error(errc::bad_argument, "", what); }

/// Words, of which some stand in single quotes.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  bool inside = false;
  bool quoted = false;
  for (const char c : text) {
    if (c == '\'') quoted = !quoted;
    const bool separates = c == ' ' && !quoted;
    if (!separates && !inside) words.emplace_back();
    inside = !separates;
    if (inside && c != '\'') words.back() += c;
  }
  if (quoted) refuse("a quotation mark is missing in \"" + text + '"');
  return words;
}

template <class Number>
void read(Number& into, const std::string& option, const std::string& text) {
  const char* const end = text.data() + text.size();
  if (std::from_chars(text.data(), end, into).ptr != end || text.empty()) {
    refuse(option + " takes a number, not \"" + text + '"');
  }
}

struct request {
  options how;
  coordinates where;
};

/// True if `option` is one of a replay, which `value` belongs to.
bool take(request& into, subject& tested, const std::string& option, const std::string& value) {
  options& how = into.how;
  if (option == "--model") {
    how.model = memory_model_from_text(value);
  } else if (option == "--seed") {
    read(into.where.seed, option, value);
  } else if (option == "--execution") {
    read(into.where.execution, option, value);
  } else if (option == "--schedule") {
    into.where.decisions = schedule_from_text(value);
  } else if (option == "--without") {
    into.where.without = operations_from_text(value);
  } else if (option == "--strategy") {
    if (value != "exhaustive") refuse("the strategy of a replay is exhaustive, not " + value);
    how.strategy = strategy_kind::exhaustive;
  } else if (option == "--threads") {
    read(how.within.threads, option, value);
  } else if (option == "--operations") {
    read(how.within.operations, option, value);
  } else if (option == "--keys") {
    read(how.within.keys, option, value);
  } else if (option == "--prefill") {
    read(how.within.prefill, option, value);
  } else if (option == "--park") {
    read(how.parked_one_in, option, value);
  } else if (option == "--operation-steps") {
    read(how.operation_steps, option, value);
  } else if (option == "--mutant") {
    how.mutated = find_mutation(tested, how, value);
    if (!how.mutated) refuse("no short run passes '" + value + "'");
  } else {
    return false;
  }
  return true;
}

request read_request(subject& tested, const std::vector<std::string>& words, const options& how) {
  request result{how, {how.seed, 0, std::nullopt}};
  for (std::size_t i = 0; i < words.size(); i += 2) {
    if (i + 1 == words.size()) refuse(words[i] + " takes a value");
    if (!take(result, tested, words[i], words[i + 1])) {
      refuse("a replay reads like \"--seed 5 --execution 3\"; it has no " + words[i]);
    }
  }
  return result;
}

/// Prints the members of the scope that differ from their defaults.
void print_scope(std::ostream& out, const options& how) {
  const scope usual;
  const scope& mine = how.within;
  if (mine.threads != usual.threads) out << " --threads " << mine.threads;
  if (mine.operations != usual.operations) out << " --operations " << mine.operations;
  if (mine.keys != usual.keys) out << " --keys " << mine.keys;
  if (mine.prefill != usual.prefill) out << " --prefill " << mine.prefill;
}

}  // namespace

std::string replay_text(const options& how, const coordinates& where) {
  std::ostringstream out;
  out << "--model " << to_text(how.model) << " --seed " << where.seed << " --execution "
      << where.execution;
  if (where.decisions) out << " --schedule '" << to_text(*where.decisions) << "'";
  if (how.strategy == strategy_kind::exhaustive) out << " --strategy exhaustive";
  if (!where.without.empty()) out << " --without '" << to_text(where.without) << "'";
  if (how.parked_one_in != 0) out << " --park " << how.parked_one_in;
  if (how.operation_steps != 0) out << " --operation-steps " << how.operation_steps;
  if (how.replay_command.empty()) print_scope(out, how);
  if (how.mutated) out << " --mutant '" << to_text(*how.mutated) << "'";
  return out.str();
}

report replay(subject& tested, const std::string& text, const options& how) {
  const request requested = read_request(tested, words_of(text), how);
  return explorer(tested, requested.how).replay(requested.where);
}

std::optional<mutation> find_mutation(subject& tested, const options& how,
                                      const std::string& name) {
  options chosen = how;
  chosen.strategy = strategy_kind::pct;
  chosen.max_executions = brief;
  chosen.mutated = std::nullopt;
  explorer passes(tested, chosen);
  static_cast<void>(passes.run());
  for (const place& at : passes.sites().passed()) {
    for (const defect what : {defect::missing, defect::late}) {
      if (to_text(mutation{at, what}) == name) return mutation{at, what};
    }
  }
  return std::nullopt;
}

std::vector<mutant> try_mutants_in(subject& tested, const options& how,
                                   const std::vector<std::string>& files) {
  explorer passes(tested, how);
  const report sound = passes.run();
  if (sound.found) refuse("the subject fails without a mutant: " + sound.found->what);
  std::vector<place> places = passes.sites().passed();
  std::erase_if(places, [&](const place& at) {
    const std::string name = to_text(at);
    const auto begins = [&](const std::string& file) { return name.starts_with(file); };
    return !files.empty() && std::none_of(files.begin(), files.end(), begins);
  });
  return try_mutants(tested, how, places);
}

std::string to_text(const mutant& tried) {
  std::ostringstream out;
  out << to_text(tried.made) << ": " << (tried.killed ? "killed" : "SURVIVED") << " after "
      << tried.executions << " executions, " << tried.seconds << " s";
  return out.str();
}

// ---- the program ----

namespace {

constexpr const char* usage = R"(  --seconds N          for the exploration, or for each mutant
  --seed N             the first scenario
  --help               print this
and as the last one
  --replay TEXT...     replay a failure by the text that it has printed
  --mutants [FILE...]  make each flush and fence of these files defective in turn
)";

int print(const report& done) {
  std::cout << to_text(done) << '\n';
  if (!done.found) return 0;
  std::cout << to_text(*done.found);
  return 1;
}

/// Replays a failure. A shell has removed the quotation marks of a schedule, which is one word.
int replay_arguments(subject& tested, const std::vector<std::string>& arguments,
                     const options& how) {
  std::vector<std::string> words = arguments;
  if (words.size() == 1) words = words_of(words.front());
  const request requested = read_request(tested, words, how);
  return print(explorer(tested, requested.how).replay(requested.where));
}

int print_mutants(subject& tested, const options& how, const std::vector<std::string>& files) {
  const std::vector<mutant> all = try_mutants_in(tested, how, files);
  for (const mutant& each : all) std::cout << to_text(each) << '\n';
  const auto killed = std::count_if(all.begin(), all.end(), [](const auto& m) { return m.killed; });
  std::cout << killed << " of " << all.size() << " mutants killed\n";
  return 0;
}

int run(subject& tested, std::vector<std::string> arguments, options how) {
  for (auto at = arguments.begin(); at != arguments.end(); at += 2) {
    const bool has_value = std::next(at) != arguments.end();
    if (*at == "--help") {
      std::cout << usage;
      return 0;
    }
    if (*at == "--replay") return replay_arguments(tested, {std::next(at), arguments.end()}, how);
    if (*at == "--mutants") return print_mutants(tested, how, {std::next(at), arguments.end()});
    if (*at == "--seconds" && has_value) {
      read(how.seconds, *at, *std::next(at));
    } else if (*at == "--seed" && has_value) {
      read(how.seed, *at, *std::next(at));
    } else {
      refuse("there is no option " + *at + ", or it takes a value; the options are\n" + usage);
    }
  }
  return print(explorer(tested, how).run());
}

}  // namespace

int run_program(subject& tested, int argc, char** argv, const options& how) {
  options mine = how;
  if (mine.replay_command.empty()) mine.replay_command = std::string(argv[0]) + " --replay";
  try {
    return run(tested, {argv + 1, argv + argc}, mine);
  } catch (const error& problem) {
    std::cerr << problem.what() << '\n';
    return 2;
  }
}

}  // namespace outlast::verify
