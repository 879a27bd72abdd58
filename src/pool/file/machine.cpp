// The machine: boot id, persistence of mappings, file systems, and the sentences about them.
#include <outlast/base/error.hpp>
#include <outlast/hw/flush.hpp>
#include <outlast/pool/file/machine.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <src/pool/file/dax_device.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#ifndef MAP_SYNC
#define MAP_SYNC 0x80000
#endif
#ifndef MAP_SHARED_VALIDATE
#define MAP_SHARED_VALIDATE 0x03
#endif

namespace outlast::pool_detail {
namespace {

int digit_of(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

/// Returns the hexadecimal digits of `text`, whatever is between them.
pool_format::boot_id parse_uuid(std::string_view text) noexcept {
  pool_format::boot_id id{};
  std::size_t digits = 0;
  for (const char c : text) {
    const int digit = digit_of(c);
    if (digit < 0 || digits >= 2 * id.size()) continue;
    id[digits / 2] = static_cast<std::uint8_t>(id[digits / 2] * 16 + digit);
    ++digits;
  }
  return id;
}

std::string first_line(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

/// Returns the text of `persistence_domain` in the nearest ancestor of the device's directory in
/// sysfs.
std::string sysfs_persistence_domain(int fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return {};
  const std::string link = "/sys/dev/block/" + std::to_string(major(status.st_dev)) + ':' +
                           std::to_string(minor(status.st_dev));
  std::error_code failed;
  std::filesystem::path directory = std::filesystem::canonical(link, failed);
  for (; !failed && directory.has_relative_path(); directory = directory.parent_path()) {
    std::string text = first_line(directory / "persistence_domain");
    if (!text.empty()) return text;
  }
  return {};
}

/// The functions of libpmem2 that return properties of a device; all of them or none.
class pmem2_library {
 public:
  pmem2_library() : handle_(::dlopen("libpmem2.so.1", RTLD_LAZY | RTLD_LOCAL)) {
    if (handle_ == nullptr) return;
    find("pmem2_source_from_fd", source_from_fd_);
    find("pmem2_source_delete", source_delete_);
    find("pmem2_source_device_usc", device_usc_);
    find("pmem2_config_new", config_new_);
    find("pmem2_config_delete", config_delete_);
    find("pmem2_config_set_required_store_granularity", set_granularity_);
    find("pmem2_config_set_length", set_length_);
    find("pmem2_map_new", map_new_);
    find("pmem2_map_delete", map_delete_);
    find("pmem2_map_get_store_granularity", granularity_);
  }
  ~pmem2_library() {
    if (handle_ != nullptr) ::dlclose(handle_);
  }
  pmem2_library(const pmem2_library&) = delete;
  pmem2_library& operator=(const pmem2_library&) = delete;

  [[nodiscard]] bool usable() const noexcept { return handle_ != nullptr && complete_; }

  [[nodiscard]] std::optional<std::uint64_t> unsafe_shutdowns(int fd) const {
    void* source = nullptr;
    if (!usable() || source_from_fd_(&source, fd) != 0) return std::nullopt;
    std::uint64_t count = 0;
    const bool known = device_usc_(source, &count) == 0;
    source_delete_(&source);
    return known ? std::optional(count) : std::nullopt;
  }

  /// Returns true if stores to a mapping of `fd` need no flush.
  [[nodiscard]] bool caches_persist(int fd) const {
    void* source = nullptr;
    void* config = nullptr;
    if (!usable() || source_from_fd_(&source, fd) != 0) return false;
    bool result = false;
    if (config_new_(&config) == 0) {
      result = map_and_ask(config, source);
      config_delete_(&config);
    }
    source_delete_(&source);
    return result;
  }

 private:
  static constexpr int granularity_byte = 0;
  static constexpr int granularity_page = 2;

  template <class Function>
  void find(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(::dlsym(handle_, name));
    if (function == nullptr) complete_ = false;
  }

  bool map_and_ask(void* config, void* source) const {
    void* map = nullptr;
    if (set_granularity_(config, granularity_page) != 0 || set_length_(config, 1 << 21) != 0 ||
        map_new_(&map, config, source) != 0) {
      return false;
    }
    const bool result = granularity_(map) == granularity_byte;
    map_delete_(&map);
    return result;
  }

  void* handle_;
  bool complete_ = true;
  int (*source_from_fd_)(void**, int) = nullptr;
  int (*source_delete_)(void**) = nullptr;
  int (*device_usc_)(void*, std::uint64_t*) = nullptr;
  int (*config_new_)(void**) = nullptr;
  int (*config_delete_)(void**) = nullptr;
  int (*set_granularity_)(void*, int) = nullptr;
  int (*set_length_)(void*, std::size_t) = nullptr;
  int (*map_new_)(void**, const void*, const void*) = nullptr;
  int (*map_delete_)(void**) = nullptr;
  int (*granularity_)(void*) = nullptr;
};

}  // namespace

hooks& test_hooks() noexcept {
  static auto* const instance = new hooks;  // never destroyed: pools of static objects close late
  return *instance;
}

// Before main, so that a fork() of another thread does not find them half made.
[[maybe_unused]] const hooks& hooks_made_early = test_hooks();

pool_format::boot_id current_boot_id() {
  if (test_hooks().boot) return *test_hooks().boot;
  // Not by a stream, which treats a lack of memory as an empty file: the pool would count as torn.
  const char* const path = "/proc/sys/kernel/random/boot_id";
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
    throw error(errc::io_failure, path, std::generic_category().message(errno));
  }
  std::array<char, 64> text{};
  const ssize_t size = file < 0 ? 0 : ::read(file, text.data(), text.size());
  if (file >= 0) ::close(file);
  return parse_uuid({text.data(), size < 0 ? 0 : static_cast<std::size_t>(size)});
}

bool may_be_this_boot(const pool_format::boot_id& recorded) {
  const pool_format::boot_id now = current_boot_id();
  constexpr pool_format::boot_id unknown{};
  return recorded == now || recorded == unknown || now == unknown;
}

std::array<std::uint8_t, 16> random_uuid() {
  std::array<std::uint8_t, 16> uuid{};
  if (::getrandom(uuid.data(), uuid.size(), 0) != static_cast<ssize_t>(uuid.size())) {
    throw error(errc::io_failure, "", "the kernel gave no random bytes for the pool's identity");
  }
  uuid[6] = static_cast<std::uint8_t>((uuid[6] & 0x0f) | 0x40);  // RFC 4122, version 4
  uuid[8] = static_cast<std::uint8_t>((uuid[8] & 0x3f) | 0x80);
  return uuid;
}

domain::kind persistence_of_device(int fd) {
  if (dax_device_of(fd)) return persistence_of_dax(sysfs_of_character_device(fd));
  const std::string text = sysfs_persistence_domain(fd);
  if (text == "cpu_cache") return domain::kind::cache_persistent;
  if (text.empty() && pmem2_library().caches_persist(fd)) return domain::kind::cache_persistent;
  return domain::kind::adr;
}

std::optional<std::uint64_t> unsafe_shutdowns(int fd) {
  return pmem2_library().unsafe_shutdowns(fd);
}

std::optional<domain::kind> kind_named(std::string_view name) noexcept {
  for (const domain::kind kind :
       {domain::kind::process, domain::kind::adr, domain::kind::cache_persistent,
        domain::kind::file, domain::kind::logged_file}) {
    if (name == name_of(kind)) return kind;
  }
  return std::nullopt;
}

std::string_view name_of(domain::kind kind) noexcept {
  switch (kind) {
    case domain::kind::process: return "process";
    case domain::kind::adr: return "adr";
    case domain::kind::cache_persistent: return "cache_persistent";
    case domain::kind::file: return "file";
    case domain::kind::simulated: return "simulated";
    case domain::kind::logged_file: return "logged_file";
  }
  return "unknown";
}

std::optional<domain::kind> forced_by_environment() {
  const char* const name = std::getenv("OUTLAST_DOMAIN");
  if (name == nullptr || *name == '\0' || std::string_view(name) == "native") return std::nullopt;
  const std::optional<domain::kind> kind = kind_named(name);
  if (!kind) {
    throw error(errc::bad_argument, "",
                "OUTLAST_DOMAIN names '" + std::string(name) +
                    "'; it must be process, adr, cache_persistent or native");
  }
  return kind;
}

domain::kind effective_kind(domain::kind mapping, domain::kind instructions) noexcept {
  if (instructions == domain::kind::file || instructions == domain::kind::logged_file ||
      instructions == domain::kind::simulated) {
    return instructions;
  }
  if (mapping == domain::kind::cache_persistent && instructions != domain::kind::process) {
    return mapping;
  }
  const bool flushed = instructions == domain::kind::adr &&
                       hw::chosen_flush_instruction() != hw::flush_instruction::dc_cvac;
  return mapping == domain::kind::adr && flushed ? mapping : domain::kind::process;
}

void require_instructions(domain::kind instructions, const std::string& path) {
  if (instructions != domain::kind::adr ||
      hw::chosen_flush_instruction() != hw::flush_instruction::none) {
    return;
  }
  throw error(
      errc::refused, path,
      "this CPU has no instruction that writes a cache line back to persistent memory; open "
      "the pool under the domain 'process', which survives the death of the process");
}

std::string guarantee_sentence(domain::kind effective, domain::kind mapping,
                               domain::kind instructions, const std::string& path,
                               bool volatile_file_system) {
  switch (effective) {
    case domain::kind::adr:
    case domain::kind::cache_persistent:
      return "Data that an operation has made durable survives the death of the process, kernel "
             "panics "
             "and power cuts: '" +
             path + "' is mapped directly from persistent memory (" +
             std::string(name_of(mapping)) + ").";
    case domain::kind::file:
      return "Data that has been synced with the device survives the death of the process, kernel "
             "panics and power cuts, provided that the device of '" +
             path + "' honours syncs.";
    case domain::kind::logged_file:
      return "Data that has been synced with the device survives kernel panics, power cuts and the "
             "death of the process, and other data does not: '" +
             path +
             "' is written through a log in a second file, provided that the device honours "
             "syncs.";
    case domain::kind::simulated: return "Survival is simulated.";
    case domain::kind::process: break;
  }
  std::string text =
      "Data that an operation has made durable survives the death of the process (kill, "
      "abort, out of memory), because the kernel keeps the pages of '" +
      path + "'";
  text += volatile_file_system ? ", which is in memory and is lost at a reboot"
                               : "; it does not survive a kernel panic or a power cut";
  if (mapping != domain::kind::process) {
    text += ", although the file is on persistent memory: the domain '" +
            std::string(name_of(instructions)) + "' does not flush to it";
  } else if (instructions != domain::kind::process) {
    text += "; the instructions of '" + std::string(name_of(instructions)) +
            "' were requested and do not change that";
  }
  return text + '.';
}

std::string guarantee_of_file(int fd, const std::string& path) {
  domain::kind mapping = domain::kind::process;
  if (dax_device_of(fd)) {
    mapping = persistence_of_device(fd);
  } else if (void* const mapped = ::mmap(nullptr, pool_format::page_bytes, PROT_READ,
                                         MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
             mapped != MAP_FAILED) {
    ::munmap(mapped, pool_format::page_bytes);
    mapping = persistence_of_device(fd);
  }
  return guarantee_sentence(mapping, mapping, mapping, path, in_memory_file_system(fd));
}

namespace {

/// Returns 0 if the kernel does not report it.
long file_system_of(int fd) {
  if (test_hooks().file_system) return *test_hooks().file_system;
  struct statfs status{};
  return ::fstatfs(fd, &status) == 0 ? static_cast<long>(status.f_type) : 0;
}

}  // namespace

bool in_memory_file_system(int fd) {
  if (dax_device_of(fd)) return false;  // its name may be on one
  const long type = file_system_of(fd);
  return type == TMPFS_MAGIC || type == RAMFS_MAGIC;
}

bool known_file_system(int fd) {
  if (dax_device_of(fd)) return false;
  switch (static_cast<unsigned long>(file_system_of(fd))) {
    case TMPFS_MAGIC:
    case EXT4_SUPER_MAGIC:  // that of ext2 and ext3, too
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case F2FS_SUPER_MAGIC:
    case OVERLAYFS_SUPER_MAGIC: return true;
    default: return false;
  }
}

}  // namespace outlast::pool_detail
