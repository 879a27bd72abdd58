// outlast backup POOL COPY: copies a pool that no process has open, and compares the copy with it.
// Exit status: 0, the copy exists; 1, the pool is damaged; 2, the arguments are wrong, or the copy
// failed. After 1 and 2 there is no copy.
#include <apps/commands.hpp>
#include <apps/db/meter.hpp>
#include <outlast/base/error.hpp>
#include <outlast/pool/check.hpp>
#include <outlast/pool/detail/opening.hpp>
#include <outlast/pool/file/file_identity.hpp>
#include <outlast/pool/file/mapped_file.hpp>
#include <outlast/pool/journal/redo_log.hpp>

#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace outlast::apps {
namespace {

using nlohmann::ordered_json;
using pool_detail::mapped_file;
using pool_detail::unique_fd;
using namespace pool_format;

constexpr std::size_t piece_bytes = std::size_t{1} << 20;

struct arguments {
  std::string pool;
  std::string copy;
  bool unclosed = false;
  bool json = false;
};

[[noreturn]] void throw_system(const std::string& path, const std::string& what) {
  const errc code = errno == ENOSPC ? errc::no_space : errc::io_failure;
  throw error(code, path, what + ": " + std::generic_category().message(errno));
}

/// The bytes from `begin` to `end`.
struct extent {
  std::uint64_t begin;
  std::uint64_t end;
};

/// Returns the stored parts of a file. The holes between them are zeros.
std::vector<extent> stored_extents(int fd, const std::string& path, std::uint64_t length) {
  std::vector<extent> found;
  std::uint64_t at = 0;
  while (at < length) {
    const off_t data = ::lseek(fd, static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;
    const off_t hole = data < 0 ? data : ::lseek(fd, data, SEEK_HOLE);
    if (hole < 0) throw_system(path, "cannot find the stored parts of the file");
    found.push_back({static_cast<std::uint64_t>(data), static_cast<std::uint64_t>(hole)});
    at = static_cast<std::uint64_t>(hole);
  }
  return found;
}

std::uint64_t bytes_in(const std::vector<extent>& parts) {
  std::uint64_t all = 0;
  for (const extent& part : parts) all += part.end - part.begin;
  return all;
}

void read_fully(int fd, const std::string& path, std::uint64_t offset, std::byte* to,
                std::size_t size) {
  while (size != 0) {
    const ssize_t got = ::pread(fd, to, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) throw error(errc::io_failure, path, "the file has become shorter");
    if (got < 0) throw_system(path, "cannot read");
    to += got;
    offset += static_cast<std::uint64_t>(got);
    size -= static_cast<std::size_t>(got);
  }
}

void write_fully(int fd, const std::string& path, std::uint64_t offset, const std::byte* from,
                 std::size_t size) {
  while (size != 0) {
    const ssize_t put = ::pwrite(fd, from, size, static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw_system(path, "cannot write");
    from += put;
    offset += static_cast<std::uint64_t>(put);
    size -= static_cast<std::size_t>(put);
  }
}

/// Calls `visit(offset, size)` for pieces of at most a mebibyte of all of `parts`.
template <class Visit>
void for_each_piece(const std::vector<extent>& parts, Visit&& visit) {
  for (const extent& part : parts) {
    for (std::uint64_t at = part.begin; at < part.end; at += piece_bytes) {
      visit(at, static_cast<std::size_t>(std::min<std::uint64_t>(piece_bytes, part.end - at)));
    }
  }
}

/// A file with a temporary name until it is complete. The destructor removes an incomplete one.
class unfinished_copy {
 public:
  explicit unfinished_copy(const std::filesystem::path& final_name)
      : final_name_(final_name), folder_(final_name.parent_path()) {
    if (folder_.empty()) folder_ = ".";
    name_ = (folder_ / ("." + final_name.filename().string() + ".XXXXXX")).string();
    fd_ = unique_fd(::mkostemp(name_.data(), O_CLOEXEC));
    if (fd_.get() < 0) throw_system(final_name.string(), "cannot create the copy");
  }
  ~unfinished_copy() {
    if (!name_.empty()) ::unlink(name_.c_str());
  }
  unfinished_copy(const unfinished_copy&) = delete;
  unfinished_copy& operator=(const unfinished_copy&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return fd_.get(); }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  void sync() const {
    if (::fsync(fd_.get()) != 0) throw_system(final_name_.string(), "cannot sync the copy");
  }
  /// Renames the file to its final name, durably. Throws error{already_exists} if that file exists.
  void finish() {
    if (::link(name_.c_str(), final_name_.c_str()) != 0) {
      if (errno != EEXIST) throw_system(final_name_.string(), "cannot name the copy");
      throw error(errc::already_exists, final_name_.string(), "this file already exists");
    }
    ::unlink(name_.c_str());
    name_.clear();
    const unique_fd folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.get() < 0 || ::fsync(folder.get()) != 0) {
      throw_system(folder_.string(), "cannot sync the folder of the copy");
    }
  }

 private:
  std::filesystem::path final_name_;
  std::filesystem::path folder_;
  std::string name_;
  unique_fd fd_;
};

/// A locked pool, with the batches of its log applied.
struct taken_pool {
  mapped_file file;
  parsed_header header;
  std::uint64_t batches = 0;        ///< the number of batches in its log
  pool_detail::found_log log = {};  ///< empty if the pool can be opened without a log
};

/// Locks the pool and applies the batches of its log.
taken_pool take(const arguments& given) {
  mapped_file file = mapped_file::open(given.pool);
  parsed_header header = pool_detail::validate_header(file.first_page(), given.pool);
  const std::uint64_t batches =
      pool_detail::batches_in_log(given.pool, header.fixed.uuid).value_or(0);
  pool_detail::found_log log = pool_detail::bring_in_log(file, header, false, false);
  header = pool_detail::validate_header(file.first_page(), given.pool);
  const auto domain = static_cast<domain::kind>(header.state.domain_kind);
  if (header.dirty() && domain == domain::kind::process && !given.unclosed) {
    throw error(errc::refused, given.pool,
                "the pool was not closed, and a copy of it would be refused after the next start "
                "of the machine; open it with its program, which recovers it, and close it; or "
                "pass --unclosed");
  }
  if (!header.dirty() || domain != domain::kind::logged_file) {
    pool_detail::remove_log(given.pool, std::move(log));
    log = {};
  }
  return {std::move(file), header, batches, std::move(log)};
}

/// The source of a copy: a file, or the part of a device that a pool occupies. A device has no
/// holes and is read in another way.
struct source {
  int fd;
  std::string path;
  const mapped_file* device = nullptr;
  std::uint64_t pool_bytes = 0;  ///< the bytes of the pool on the device

  [[nodiscard]] struct stat status() const {
    struct stat found{};
    if (::fstat(fd, &found) != 0) throw_system(path, "cannot examine the file");
    if (device != nullptr) found.st_size = static_cast<off_t>(pool_bytes);
    return found;
  }
  [[nodiscard]] std::vector<extent> extents(std::uint64_t length) const {
    if (device != nullptr) return {{0, length}};
    return stored_extents(fd, path, length);
  }
  void read(std::uint64_t offset, std::byte* to, std::size_t size) const {
    if (device != nullptr) return device->read(offset, to, size);
    read_fully(fd, path, offset, to, size);
  }
  /// Returns true if the copy can have a hole at this place, as the file of a pool has.
  [[nodiscard]] bool leaves_out(const std::vector<std::byte>& piece, std::size_t size) const {
    const auto is_zero = [](std::byte each) { return each == std::byte{}; };
    return device != nullptr &&
           std::all_of(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(size), is_zero);
  }
};

/// Copies the stored parts and compares them. The copy is durable at return. Returns the number of
/// bytes.
std::uint64_t copy_and_compare(const source& from, const unfinished_copy& to) {
  constexpr std::uint64_t unit = piece_bytes;
  const struct stat status = from.status();
  const std::vector<extent> parts = from.extents(static_cast<std::uint64_t>(status.st_size));
  const std::uint64_t all = std::max<std::uint64_t>(2 * bytes_in(parts) / unit, 1);
  std::uint64_t done = 0;
  db::meter bar("backup", "MiB, written and compared");
  std::vector<std::byte> piece(piece_bytes);
  std::vector<std::byte> other(piece_bytes);
  if (::ftruncate(to.descriptor(), status.st_size) != 0 ||
      ::fchmod(to.descriptor(), status.st_mode & 0777) != 0) {
    throw_system(to.name(), "cannot give the copy the length and mode of the pool");
  }
  for_each_piece(parts, [&](std::uint64_t offset, std::size_t size) {
    from.read(offset, piece.data(), size);
    if (!from.leaves_out(piece, size)) {
      write_fully(to.descriptor(), to.name(), offset, piece.data(), size);
    }
    bar.advance((done += size) / unit, all);
  });
  to.sync();
  // The comparison reads the device, to the extent that the kernel drops its cached pages.
  static_cast<void>(::posix_fadvise(to.descriptor(), 0, 0, POSIX_FADV_DONTNEED));
  for_each_piece(parts, [&](std::uint64_t offset, std::size_t size) {
    from.read(offset, piece.data(), size);
    read_fully(to.descriptor(), to.name(), offset, other.data(), size);
    if (std::memcmp(piece.data(), other.data(), size) != 0) {
      throw error(errc::io_failure, to.name(), "the copy differs from what was written to it");
    }
    bar.advance((done += size) / unit, all);
  });
  return bytes_in(parts);
}

/// Prints the errors of the pool, which make a copy useless. Returns true if there are none.
bool is_sound(const arguments& given) {
  const std::vector<finding> findings = check_file(given.pool);
  for (const finding& one : findings) {
    if (one.level != severity::error) continue;
    std::cerr << given.pool << ": error: " << one.sentence << '\n';
  }
  return !has_errors(findings);
}

/// Returns the bytes of the pool, of which a device can have more.
std::uint64_t bytes_of(const taken_pool& pool, const std::string& path) {
  const auto read = [&](std::uint64_t offset, void* to, std::size_t size) {
    pool.file.read(offset, to, size);
  };
  return pool_detail::tables_of(pool.header, read, path).file_bytes;
}

/// Copies the pool, and its log if the pool cannot be opened without. Returns the bytes of the
/// pool.
std::uint64_t copy_pool(const taken_pool& pool, const std::string& path,
                        const std::filesystem::path& copy) {
  const bool has_log = pool.log.file.get() >= 0;
  const std::string log_name = pool_detail::log_path_of(copy.string());
  unfinished_copy to(copy);
  const mapped_file* const device = pool.file.is_device() ? &pool.file : nullptr;
  const std::uint64_t copied =
      copy_and_compare({pool.file.descriptor(), path, device, bytes_of(pool, path)}, to);
  pool_detail::adopt_copy(to.name(), to.descriptor());
  to.sync();
  if (has_log) {
    unfinished_copy log(log_name);
    copy_and_compare({.fd = pool.log.file.get(), .path = pool_detail::log_path_of(path)}, log);
    log.finish();
  }
  try {
    to.finish();
  } catch (...) {
    if (has_log) ::unlink(log_name.c_str());
    throw;
  }
  return copied;
}

void run_backup(const arguments& given) {
  if (std::filesystem::is_directory(given.pool)) {
    throw error(errc::not_a_pool, given.pool,
                "this is a directory; back up a store with outlast db backup");
  }
  std::filesystem::path copy = given.copy;
  if (std::filesystem::is_directory(copy)) copy /= std::filesystem::path(given.pool).filename();
  if (std::filesystem::exists(copy)) {
    throw error(errc::already_exists, copy.string(), "this file already exists");
  }
  const taken_pool pool = take(given);
  if (!is_sound(given)) exit_with(1);
  const std::uint64_t copied = copy_pool(pool, given.pool, copy);
  const ordered_json all{{"pool", given.pool},
                         {"copy", copy.string()},
                         {"mark", pool.header.dirty() ? "dirty" : "clean"},
                         {"file_bytes", pool.file.length()},
                         {"copied_bytes", copied},
                         {"log_batches", pool.batches}};
  if (given.json) {
    std::cout << all.dump() << '\n';
    return;
  }
  std::cout << copy.string() << ": " << copied << " bytes copied and compared";
  if (pool.batches != 0) std::cout << ", " << pool.batches << " batches of the log among them";
  if (pool.header.dirty())
    std::cout << "; the pool was not closed: the program that opens the copy recovers it";
  std::cout << '\n';
}

}  // namespace

void add_backup(CLI::App& tool) {
  CLI::App* const added = tool.add_subcommand(
      "backup", "Copy a pool that no process has open, and compare the copy with it");
  const auto given = std::make_shared<arguments>();
  added->add_option("file", given->pool, "The pool file")->required();
  added->add_option("copy", given->copy, "A file that does not exist, or a directory")->required();
  added->add_flag(
      "--unclosed", given->unclosed,
      "Accept a pool that was not closed; its copy is refused after the machine's next start");
  added->add_flag("--json", given->json, "Print one JSON object");
  added->callback([given] { or_status_2([&] { run_backup(*given); }, given->json); });
}

}  // namespace outlast::apps
