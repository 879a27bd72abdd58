// The persistence sites in the running program's data, and the names of its functions.
#include <outlast/verify/explorer/program_sites.hpp>

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

namespace outlast::verify {
namespace {

constexpr std::string_view domain_name = "domain::simulated";
constexpr std::size_t longest_name = std::size_t{1} << 16;

// ---- Finding the records ----

/// What the compilers make of a source_location.
struct record {
  std::uintptr_t file;
  std::uintptr_t function;
  unsigned line;
  unsigned column;
};
static_assert(sizeof(record) == 24);

struct range {
  std::uintptr_t begin;
  std::uintptr_t end;
};

/// What was loaded from the file of one ELF object. Records are constants, but g++ leaves those
/// that need relocation where variables are.
using segments = std::vector<range>;

segments segments_of(const dl_phdr_info& object) {
  segments result;
  for (std::size_t i = 0; i < object.dlpi_phnum; ++i) {
    const auto& segment = object.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_R) == 0) continue;
    const std::uintptr_t begin = object.dlpi_addr + segment.p_vaddr;
    result.push_back({begin, begin + segment.p_filesz});
  }
  return result;
}

/// Reads whatever lies there: sanitizers would take gaps between variables for errors, and
/// variables that other threads write for races.
template <class T>
[[gnu::no_sanitize_address, gnu::no_sanitize_thread]] T read_at(std::uintptr_t address) {
  std::array<unsigned char, sizeof(T)> bytes;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bytes.data()[i] = reinterpret_cast<const volatile unsigned char*>(address)[i];
  }
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

/// The string at `address`, if one can be read there.
std::optional<std::string> string_at(std::uintptr_t address, const segments& object) {
  for (const range& part : object) {
    if (address < part.begin || address >= part.end) continue;
    std::string text;
    for (; address < part.end && text.size() < longest_name; ++address) {
      const char next = read_at<char>(address);
      if (next == '\0') return text;
      text += next;
    }
  }
  return std::nullopt;
}

/// The site that `found` describes, if that is what it is.
std::optional<program_site> as_site(const record& found, const segments& object) {
  constexpr unsigned max_lines = 1U << 20;
  constexpr unsigned max_columns = 1U << 12;
  if (found.line == 0 || found.line > max_lines || found.column > max_columns) return {};
  const auto function = string_at(found.function, object);
  if (!function || function->find(domain_name) == std::string::npos) return {};
  const auto file = string_at(found.file, object);
  if (!file || file->empty()) return {};
  return program_site{*file, found.line, found.column, detail::without_parameters(*function)};
}

void collect(const segments& object, std::vector<program_site>& to) {
  for (const range& part : object) {
    const std::uintptr_t begin = (part.begin + alignof(record) - 1) / alignof(record);
    for (std::uintptr_t at = begin * alignof(record); at + sizeof(record) <= part.end;
         at += alignof(record)) {
      if (auto site = as_site(read_at<record>(at), object)) to.push_back(*std::move(site));
    }
  }
}

std::tuple<std::string, unsigned, unsigned> place_of(const program_site& at) {
  return {at.file, at.line, at.column};
}

auto order_of(const program_site& at) { return std::tie(at.file, at.line, at.column, at.function); }

// ---- Names of functions ----

bool in_a_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Leaves out the spaces that separate no words: compilers differ in them.
std::string tightened(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool between_words =
        i > 0 && i + 1 < text.size() && in_a_word(text[i - 1]) && in_a_word(text[i + 1]);
    if (text[i] != ' ' || between_words) result += text[i];
  }
  return result;
}

/// Where the brackets that end `function` open: `f(T) [with T = int]`, `f(T) [T = int]`.
std::size_t bindings_of(std::string_view function) {
  if (function.empty() || function.back() != ']') return function.size();
  int depth = 0;
  for (std::size_t i = function.size(); i-- > 0;) {
    if (function[i] == ']') ++depth;
    if (function[i] == '[' && --depth == 0) return i;
  }
  return function.size();
}

/// Splits at the commas and semicolons that stand in no brackets.
std::vector<std::string_view> items_of(std::string_view list) {
  std::vector<std::string_view> items;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    constexpr std::string_view opening = "<({[";
    constexpr std::string_view closing = ">)}]";
    if (opening.find(list[i]) != opening.npos) ++depth;
    if (closing.find(list[i]) != closing.npos) --depth;
    if (depth != 0 || (list[i] != ',' && list[i] != ';')) continue;
    items.push_back(list.substr(begin, i - begin));
    begin = i + 1;
  }
  items.push_back(list.substr(begin));
  return items;
}

/// Parameters and their arguments, tightened.
std::map<std::string, std::string, std::less<>> arguments_in(std::string_view function) {
  std::map<std::string, std::string, std::less<>> arguments;
  std::string_view bindings = function.substr(bindings_of(function));
  if (bindings.size() < 2) return arguments;
  bindings = bindings.substr(1, bindings.size() - 2);
  constexpr std::string_view of_gcc = "with ";
  if (bindings.substr(0, of_gcc.size()) == of_gcc) bindings.remove_prefix(of_gcc.size());
  for (const std::string_view item : items_of(bindings)) {
    const std::size_t equals = item.find(" = ");
    if (equals == item.npos) continue;
    arguments[tightened(item.substr(0, equals))] = tightened(item.substr(equals + 3));
  }
  return arguments;
}

// ---- Which structure a function belongs to ----

/// `type` may be written with fewer arguments than the function has: those left are the defaults.
bool mentions(const std::string& function, std::string_view type) {
  if (type.empty()) return false;
  if (type.back() == '>') type.remove_suffix(1);
  for (std::size_t at = function.find(type); at != function.npos;
       at = function.find(type, at + 1)) {
    const std::size_t after = at + type.size();
    const bool starts = at == 0 || !in_a_word(function[at - 1]);
    if (starts && (after == function.size() || !in_a_word(function[after]))) return true;
  }
  return false;
}

/// The arguments of `type` that were made for the domain.
std::vector<std::string> policies_of(std::string_view type) {
  std::vector<std::string> policies;
  const std::size_t opening = type.find('<');
  if (opening == type.npos || type.back() != '>') return policies;
  for (const auto argument : items_of(type.substr(opening + 1, type.size() - opening - 2))) {
    const bool made_for_it = argument.find(domain_name) != argument.npos;
    if (made_for_it && argument.back() == '>') policies.emplace_back(argument);
  }
  return policies;
}

bool mentions_any(const std::string& function, const std::vector<std::string>& types) {
  return std::any_of(types.begin(), types.end(),
                     [&](const std::string& type) { return mentions(function, type); });
}

}  // namespace

// ---- detail ----

std::string detail::argument_of(std::string_view function, std::string_view parameter) {
  const auto arguments = arguments_in(function);
  const auto found = arguments.find(parameter);
  return found == arguments.end() ? "" : found->second;
}

std::string detail::without_parameters(std::string_view function) {
  const auto arguments = arguments_in(function);
  const std::string_view body = function.substr(0, bindings_of(function));
  std::string result;
  for (std::size_t i = 0; i < body.size();) {
    std::size_t end = i;
    while (end < body.size() && in_a_word(body[end])) ++end;
    const std::string_view word = body.substr(i, std::max<std::size_t>(end - i, 1));
    const auto argument = arguments.find(word);
    const bool qualified = i > 0 && body[i - 1] == ':';
    result += argument != arguments.end() && !qualified ? argument->second : std::string(word);
    i += word.size();
  }
  result = tightened(result);
  // What the name itself does not show, such as the types behind `auto`, stays known.
  for (const auto& [name, argument] : arguments) result += ';' + argument;
  return result;
}

// ---- Sites ----

std::string program_site::text() const {
  const std::size_t slash = file.rfind('/');
  return (slash == file.npos ? file : file.substr(slash + 1)) + ':' + std::to_string(line) + ':' +
         std::to_string(column);
}

std::vector<program_site> program_sites() {
  std::vector<program_site> sites;
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* to) {
        collect(segments_of(*object), *static_cast<std::vector<program_site>*>(to));
        return 0;
      },
      &sites);
  std::sort(sites.begin(), sites.end(),
            [](const auto& a, const auto& b) { return order_of(a) < order_of(b); });
  const auto same = [](const auto& a, const auto& b) { return order_of(a) == order_of(b); };
  sites.erase(std::unique(sites.begin(), sites.end(), same), sites.end());
  return sites;
}

site_coverage::site_coverage(const std::vector<program_site>& all) {
  for (const program_site& each : all) unreached_.emplace(place_of(each), each.function);
}

site_coverage::site_coverage(const std::vector<program_site>& all, std::string_view type,
                             const std::vector<std::string>& types) {
  std::set<std::string> policies;
  for (const std::string& each : types) {
    std::vector<std::string> its_own = policies_of(each);
    if (its_own.empty() && !each.empty()) its_own.push_back(each);  // durable without a policy
    for (std::string& policy : its_own) policies.insert(std::move(policy));
  }
  policies.insert("outlast::sets::detail");  // its parts serve sets, whatever they mention
  const std::vector<std::string> list(policies.begin(), policies.end());
  for (const program_site& each : all) {
    if (mentions(each.function, type) || !mentions_any(each.function, list)) {
      unreached_.emplace(place_of(each), each.function);
    } else {
      perhaps_.insert(place_of(each));
    }
  }
}

void site_coverage::add(const site_table& run) {
  for (const site_table::entry& each : run.entries()) {
    if (each.passed == 0) continue;
    place at{each.where.file_name(), each.where.line(), each.where.column()};
    if (unreached_.erase(at) + perhaps_.erase(at) > 0) reached_.insert(std::move(at));
  }
}

std::vector<program_site> site_coverage::unreached() const {
  std::vector<program_site> sites;
  for (const auto& [at, function] : unreached_) {
    sites.push_back({std::get<0>(at), std::get<1>(at), std::get<2>(at), function});
  }
  return sites;
}

}  // namespace outlast::verify
