#include <bench/engine/experiment.hpp>

#include <outlast/base/error.hpp>

#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <sstream>
#include <string_view>

namespace outlast::bench {
namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// 'text', in quotation marks. (Appending keeps g++ 12 from a false alarm.)
std::string in_quotes(std::string_view text) {
  std::string result(1, '\'');
  result.append(text).append(1, '\'');
  return result;
}

using hw::flush_instruction;
constexpr std::array flush_instructions = {flush_instruction::clwb, flush_instruction::clflushopt,
                                           flush_instruction::clflush, flush_instruction::dc_cvap,
                                           flush_instruction::dc_cvac};

/// Reads the tables of one file; knows how to complain.
class reader {
 public:
  reader(const std::string& file, const registry& known) : file_(file), known_(known) {}

  experiment read(const toml::table& root) const;

 private:
  [[noreturn]] void fail(const toml::source_region& where, const std::string& sentence) const {
    throw error(errc::bad_argument, file_ + ":" + std::to_string(where.begin.line), sentence);
  }
  [[noreturn]] void fail(const toml::node& where, const std::string& sentence) const {
    fail(where.source(), sentence);
  }

  const toml::node& required(const toml::table& table, std::string_view key) const {
    const toml::node* const node = table.get(key);
    if (node == nullptr) fail(table, "the key " + in_quotes(key) + " is missing");
    return *node;
  }

  template <class T>
  T value(const toml::node& node, const std::string& what) const {
    const std::optional<T> result = node.value<T>();
    if (!result) fail(node, what);
    return *result;
  }

  std::string text(const toml::node& node, std::string_view key) const {
    return value<std::string>(node, in_quotes(key) + " must be a string");
  }

  double number(const toml::node& node, std::string_view key, double low, double high) const {
    const std::string sentence =
        in_quotes(key) + " must be a number between " + compact(low) + " and " + compact(high);
    const auto result = value<double>(node, sentence);
    if (!(result >= low && result <= high)) fail(node, sentence);
    return result;
  }

  std::uint64_t whole(const toml::node& node, std::string_view key, std::uint64_t high,
                      std::int64_t low = 1) const {
    const std::string sentence = in_quotes(key) + " must be a whole number between " +
                                 std::to_string(low) + " and " + std::to_string(high);
    const auto result = value<std::int64_t>(node, sentence);
    if (result < low || static_cast<std::uint64_t>(result) > high) fail(node, sentence);
    return static_cast<std::uint64_t>(result);
  }

  /// The elements of an array, each read by `element(node)`.
  template <class Element>
  auto list(const toml::node& node, std::string_view key, Element&& element) const {
    std::vector<decltype(element(node))> result;
    const toml::array* const array = node.as_array();
    if (array == nullptr || array->empty()) {
      fail(node, in_quotes(key) + " must be a list with at least one element");
    }
    for (const toml::node& item : *array) result.push_back(element(item));
    return result;
  }

  /// A name that is one of `candidates`.
  std::string name(const toml::node& node, std::string_view key,
                   const std::vector<std::string>& candidates) const {
    std::string result = text(node, key);
    if (std::find(candidates.begin(), candidates.end(), result) == candidates.end()) {
      fail(node, in_quotes(result) + " is unknown in " + in_quotes(key) +
                     "; known are: " + joined(candidates));
    }
    return result;
  }

  std::vector<std::string> names(const toml::table& table, std::string_view key,
                                 const std::vector<std::string>& candidates) const {
    return list(required(table, key), key,
                [&](const toml::node& item) { return name(item, key, candidates); });
  }

  static std::string compact(double number) {
    std::ostringstream text;
    text << number;
    return text.str();
  }

  void refuse_unknown(const toml::table& table,
                      std::initializer_list<std::string_view> known) const {
    for (const auto& [key, node] : table) {
      if (std::find(known.begin(), known.end(), key.str()) == known.end()) {
        fail(key.source(), "the key " + in_quotes(key.str()) + " is unknown");
      }
    }
  }

  std::vector<std::uint64_t> size_list(const toml::node& node) const {
    return list(node, "sizes",
                [&](const toml::node& item) { return whole(item, "sizes", max_key_range / 2); });
  }

  experiment read_micros(const toml::table& root, const toml::node& micros) const;
  void read_names(const toml::table& root, experiment& result) const;
  void read_numbers(const toml::table& root, experiment& result) const;
  void read_emulation(const toml::table& root, experiment& result) const;
  flush_instruction instruction(const toml::node& node) const;
  void read_sizes(const toml::node& node, experiment& result) const;
  key_distribution distribution(const toml::node& node) const;
  std::vector<unsigned> thread_list(const toml::node& node) const;
  goal read_goal(const toml::node& node) const;
  void read_points(const toml::table& table, goal& result) const;
  void read_goals(const toml::table& root, experiment& result) const;

  const std::string& file_;
  const registry& known_;
};

experiment reader::read(const toml::table& root) const {
  if (const toml::node* const micros = root.get("micro")) return read_micros(root, *micros);
  refuse_unknown(root, {"figure", "title", "structures", "policies", "domains", "threads", "sizes",
                        "update_percents", "workloads", "added_fence_ns", "twin_on_media",
                        "flush_instruction", "seconds", "repetitions", "expected", "goal"});
  experiment result;
  read_names(root, result);
  read_numbers(root, result);
  read_emulation(root, result);
  if (const toml::node* const node = root.get("flush_instruction")) {
    result.flush_instruction = instruction(*node);
  }
  read_sizes(required(root, "sizes"), result);
  read_goals(root, result);
  return result;
}

experiment reader::read_micros(const toml::table& root, const toml::node& micros) const {
  refuse_unknown(root, {"figure", "title", "micro", "expected"});
  experiment result;
  result.figure = text(required(root, "figure"), "figure");
  result.title = text(required(root, "title"), "title");
  result.expected = text(required(root, "expected"), "expected");
  result.micros =
      list(micros, "micro", [&](const toml::node& item) { return text(item, "micro"); });
  return result;
}

void reader::read_names(const toml::table& root, experiment& result) const {
  result.figure = text(required(root, "figure"), "figure");
  result.title = text(required(root, "title"), "title");
  result.expected = text(required(root, "expected"), "expected");
  result.structures = names(root, "structures", known_.structures());
  result.policies = names(root, "policies", known_.policies());
  result.domains = names(root, "domains", known_.domains());
}

void reader::read_numbers(const toml::table& root, experiment& result) const {
  result.threads = thread_list(required(root, "threads"));
  result.update_percents =
      list(required(root, "update_percents"), "update_percents",
           [&](const toml::node& item) { return number(item, "update_percents", 0, 100); });
  result.workloads = {key_distribution{}};
  if (const toml::node* const node = root.get("workloads")) {
    result.workloads =
        list(*node, "workloads", [&](const toml::node& item) { return distribution(item); });
  }
  if (const toml::node* const node = root.get("seconds")) {
    result.seconds = number(*node, "seconds", 0.001, 3600);
  }
  if (const toml::node* const node = root.get("repetitions")) {
    result.repetitions = static_cast<unsigned>(whole(*node, "repetitions", 1000));
  }
}

void reader::read_emulation(const toml::table& root, experiment& result) const {
  if (const toml::node* const node = root.get("added_fence_ns")) {
    result.added_fence_ns = list(*node, "added_fence_ns", [&](const toml::node& item) {
      return static_cast<unsigned>(whole(item, "added_fence_ns", 1'000'000, 0));
    });
  }
  if (const toml::node* const node = root.get("twin_on_media")) {
    if (!node->is_boolean()) fail(*node, "'twin_on_media' must be true or false");
    result.shadow_on_media = node->value_or(false);
  }
}

flush_instruction reader::instruction(const toml::node& node) const {
  std::vector<std::string> candidates;
  for (const flush_instruction one : flush_instructions) candidates.emplace_back(name_of(one));
  const std::string wanted = name(node, "flush_instruction", candidates);
  return *std::find_if(flush_instructions.begin(), flush_instructions.end(),
                       [&](flush_instruction one) { return name_of(one) == wanted; });
}

std::vector<unsigned> reader::thread_list(const toml::node& node) const {
  return list(node, "threads", [&](const toml::node& item) {
    return static_cast<unsigned>(whole(item, "threads", 4096));
  });
}

void reader::read_sizes(const toml::node& node, experiment& result) const {
  const toml::table* const by_structure = node.as_table();
  if (by_structure == nullptr) {
    const std::vector<std::uint64_t> sizes = size_list(node);
    for (const std::string& structure : result.structures) result.sizes[structure] = sizes;
    return;
  }
  for (const auto& [key, sizes] : *by_structure) {
    const std::string structure(key.str());
    if (std::find(result.structures.begin(), result.structures.end(), structure) ==
        result.structures.end()) {
      fail(key.source(), "'sizes' names '" + structure + "', which 'structures' does not");
    }
    result.sizes[structure] = size_list(sizes);
  }
  for (const std::string& structure : result.structures) {
    if (!result.sizes.contains(structure)) fail(node, "'sizes' has none for " + structure);
  }
}

key_distribution reader::distribution(const toml::node& node) const {
  try {
    return key_distribution::parse(text(node, "workloads"));
  } catch (const error& failure) {
    fail(node, failure.what());
  }
}

goal reader::read_goal(const toml::node& node) const {
  const toml::table* const table = node.as_table();
  if (table == nullptr) fail(node, "'goal' must be a table: write [[goal]]");
  refuse_unknown(*table, {"structure", "size", "update_percent", "threads", "policies", "domain",
                          "at_least", "against"});
  goal result;
  read_points(*table, result);
  result.policies = names(*table, "policies", known_.policies());
  result.domain = name(required(*table, "domain"), "domain", known_.domains());
  result.at_least = number(required(*table, "at_least"), "at_least", 0, 1000);
  if (const toml::node* const other = table->get("against")) {
    result.against = name(*other, "against", known_.policies());
  }
  return result;
}

/// What a goal does not name may be anything.
void reader::read_points(const toml::table& table, goal& result) const {
  if (const toml::node* const node = table.get("structure")) {
    result.structure = name(*node, "structure", known_.structures());
  }
  if (const toml::node* const node = table.get("size")) {
    result.size = whole(*node, "size", max_key_range / 2);
  }
  if (const toml::node* const node = table.get("update_percent")) {
    result.update_percent = number(*node, "update_percent", 0, 100);
  }
  if (const toml::node* const node = table.get("threads")) result.threads = thread_list(*node);
}

void reader::read_goals(const toml::table& root, experiment& result) const {
  if (const toml::node* const node = root.get("goal")) {
    result.goals = list(*node, "goal", [&](const toml::node& item) { return read_goal(item); });
  }
}

toml::table parsed(std::string_view text, const std::string& file) {
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& failure) {
    throw error(errc::bad_argument, file + ":" + std::to_string(failure.source().begin.line),
                std::string(failure.description()));
  }
}

}  // namespace

experiment parse_experiment(std::string_view text, const std::string& file, const registry& known) {
  return reader(file, known).read(parsed(text, file));
}

experiment load_experiment(const std::filesystem::path& file, const registry& known) {
  std::ifstream stream(file);
  if (!stream || std::filesystem::is_directory(file)) {
    throw error(errc::not_found, file.string(), "there is no experiment file of that name to read");
  }
  std::ostringstream text;
  text << stream.rdbuf();
  return parse_experiment(text.str(), file.string(), known);
}

experiment quick_version(experiment full) {
  full.seconds = std::min(full.seconds, 0.04);
  full.repetitions = std::min(full.repetitions, 5U);
  for (auto& [structure, sizes] : full.sizes) {
    std::erase_if(sizes, [](std::uint64_t size) { return size > 100'000; });
  }
  return full;
}

}  // namespace outlast::bench
