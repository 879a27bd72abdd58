#include <tests/files/call_sites.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <vector>

#include <cxxabi.h>
#include <elf.h>
#include <execinfo.h>
#include <link.h>

namespace outlast::test::files {
namespace {

struct function_symbol {
  std::uintptr_t end;
  std::string name;
};

std::uintptr_t load_address() {
  std::uintptr_t address = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        *static_cast<std::uintptr_t*>(to) = info->dlpi_addr;
        return 1;  // the program comes first
      },
      &address);
  return address;
}

template <class T>
const T* at(const std::vector<char>& image, std::uint64_t offset) {
  return reinterpret_cast<const T*>(image.data() + offset);
}

/// Of the program's own symbol table, which has local functions, too: by their begin.
std::map<std::uintptr_t, function_symbol> read_symbols() {
  std::map<std::uintptr_t, function_symbol> all;
  std::ifstream in("/proc/self/exe", std::ios::binary | std::ios::ate);
  std::vector<char> image(static_cast<std::size_t>(in.tellg()));
  in.seekg(0).read(image.data(), static_cast<std::streamsize>(image.size()));
  if (!in || image.size() < sizeof(ElfW(Ehdr))) return all;
  const auto* const header = at<ElfW(Ehdr)>(image, 0);
  const auto* const sections = at<ElfW(Shdr)>(image, header->e_shoff);
  const std::uintptr_t base = load_address();
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const auto* const symbols = at<ElfW(Sym)>(image, sections[i].sh_offset);
    const std::uint64_t names = sections[sections[i].sh_link].sh_offset;
    for (std::uint64_t s = 0; s < sections[i].sh_size / sizeof(ElfW(Sym)); ++s) {
      const ElfW(Sym)& one = symbols[s];
      if ((one.st_info & 0xf) != STT_FUNC || one.st_size == 0) continue;
      const std::uintptr_t begin = base + one.st_value;
      all[begin] = {begin + one.st_size, at<char>(image, names + one.st_name)};
    }
  }
  return all;
}

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text ? text.get() : name;
}

/// "outlast::pool_detail::redo_log::create()" as "redo_log::create": without arguments, and
/// without the namespaces.
std::string shortened(std::string name) {
  std::string flat;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name.compare(i, 21, "(anonymous namespace)") == 0) {
      i += 22;  // and the colons
      continue;
    }
    if (name[i] == '(' && depth == 0) break;
    if (name[i] == '<') ++depth;
    if (depth == 0) flat += name[i];
    if (name[i] == '>') --depth;
  }
  flat.erase(0, flat.rfind(' ') == std::string::npos ? 0 : flat.rfind(' ') + 1);
  for (const char* const each : {"outlast::", "pool_detail::", "store_detail::", "db::", "domain::",
                                 "apps::", "tx::", "detail::", "impl::"}) {
    if (flat.rfind(each, 0) == 0) flat.erase(0, std::strlen(each));
  }
  return flat;
}

/// "" if it is none of the library's.
std::string name_at(void* address) {
  static const auto* const all = new std::map<std::uintptr_t, function_symbol>(read_symbols());
  const auto where = reinterpret_cast<std::uintptr_t>(address) - 1;  // the call, not what follows
  auto found = all->upper_bound(where);
  if (found == all->begin()) return {};
  --found;
  if (where >= found->second.end) return {};
  const std::string name = demangled(found->second.name);
  if (name.find("outlast::") == std::string::npos) return {};
  if (name.find("outlast::test") != std::string::npos) return {};
  return shortened(name);
}

/// Functions between a caller and the system that identify no caller.
bool is_thin(const std::string& name) {
  return name == "unique_fd::reset" || name == "unique_fd::~unique_fd" || name == "retried" ||
         name == "log_device::write" || name == "log_device::sync" ||
         name == "descriptor::~descriptor" || name.find("{lambda") != std::string::npos ||
         name.find("$_") != std::string::npos || name.find("operator") != std::string::npos ||
         name.find("guarded") != std::string::npos;
}

}  // namespace

std::string call_site(unsigned most) {
  std::array<void*, 48> frames{};
  const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  std::string text;
  std::string last;
  unsigned shown = 0;
  for (int i = 0; i < count && shown < most; ++i) {
    const std::string name = name_at(frames[static_cast<std::size_t>(i)]);
    if (name.empty() || name == last || is_thin(name)) continue;
    text += (text.empty() ? "" : " < ") + name;
    last = name;
    ++shown;
  }
  return text.empty() ? "(the test)" : text;
}

}  // namespace outlast::test::files
