#include <outlast/pool/check.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <tests/fuzz/exercise.hpp>
#include <tests/fuzz/recipe.hpp>
#include <tests/fuzz/seeds.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace outlast::fuzz {
namespace {

using namespace pool_format;
using content = std::map<std::uint64_t, std::uint64_t>;

void require(bool kept, const char* promise) {
  if (!kept) throw broken_promise(promise);
}

/// At most a page.
bool is_zero(std::span<const std::byte> bytes) {
  static constexpr std::array<std::byte, page_bytes> zeros{};
  return std::memcmp(bytes.data(), zeros.data(), bytes.size()) == 0;
}

/// Calls `visit(offset, page)` for each page that holds anything.
template <class Visit>
void for_each_used_page(std::span<const std::byte> bytes, Visit&& visit) {
  for (std::size_t at = 0; at < bytes.size(); at += page_bytes) {
    const auto page = bytes.subspan(at, std::min(page_bytes, bytes.size() - at));
    if (!is_zero(page)) visit(at, page);
  }
}

// ---- where pools lie ----

/// Something that pools can be opened in, time and again.
class medium {
 public:
  medium() = default;
  medium(const medium&) = delete;
  medium& operator=(const medium&) = delete;
  virtual ~medium() = default;
  [[nodiscard]] virtual std::unique_ptr<pool> open() = 0;
  /// What is there is what was written at first.
  [[nodiscard]] virtual bool unchanged() const = 0;
};

class in_memory final : public medium {
 public:
  in_memory(std::span<const std::byte> bytes, const recipe& input)
      : original_(bytes),
        has_shadow_(seeds()[input.seed].has_shadow),
        memory_(input.elsewhere ? other_address : home_address,
                bytes.size() * (has_shadow_ ? 2 : 1)) {
    for_each_used_page(bytes, [&](std::size_t at, std::span<const std::byte> page) {
      std::memcpy(memory_.data() + at, page.data(), page.size());
    });
  }

  [[nodiscard]] std::unique_ptr<pool> open() override {
    pool_options options;
    options.reserve_shadow_copy = has_shadow_;
    return pool::in_memory(memory_.data(), original_.size(), false, options);
  }

  [[nodiscard]] bool unchanged() const override {
    return std::memcmp(original_.data(), memory_.data(), original_.size()) == 0;
  }

 private:
  std::span<const std::byte> original_;
  bool has_shadow_;
  mapping memory_;
};

/// A file without a name, in memory: everything of the ordinary way but the device.
class in_file final : public medium {
 public:
  in_file(std::span<const std::byte> bytes, const recipe& input)
      : original_(bytes), fd_(::memfd_create("pool", MFD_CLOEXEC)) {
    if (fd_ < 0 || ::ftruncate(fd_, static_cast<off_t>(bytes.size())) != 0) {
      throw std::system_error(errno, std::generic_category(), "no file for a pool");
    }
    for_each_used_page(bytes, [&](std::size_t at, std::span<const std::byte> page) {
      if (::pwrite(fd_, page.data(), page.size(), static_cast<off_t>(at)) < 0) {
        throw std::system_error(errno, std::generic_category(), "no room for a pool");
      }
    });
    options_.salvage = input.salvage;
    if (input.elsewhere) options_.base_address = other_address;
  }
  ~in_file() override { ::close(fd_); }

  [[nodiscard]] std::unique_ptr<pool> open() override {
    const std::string path = "/proc/self/fd/" + std::to_string(fd_);
    return std::unique_ptr<pool>(new pool(pool::open(path, options_)));
  }

  [[nodiscard]] bool unchanged() const override {
    std::vector<std::byte> now(original_.size() + 1);
    const ssize_t got = ::pread(fd_, now.data(), now.size(), 0);
    return got == static_cast<ssize_t>(original_.size()) &&
           std::memcmp(original_.data(), now.data(), original_.size()) == 0;
  }

 private:
  std::span<const std::byte> original_;
  int fd_;
  pool_options options_;
};

// ---- what a pool must do ----

template <class Map>
content content_of(const Map& from) {
  content found;
  from.for_each([&](std::uint64_t key, std::uint64_t value) { found[key] = value; });
  return found;
}

/// Ten operations on a key that is not there yet, with the answers that they must have.
template <class Map>
void operate(Map& on, std::uint64_t key) {
  while (on.contains(key)) ++key;
  require(on.insert(key, 1), "a key that is absent can be inserted");
  require(!on.insert(key, 2), "a key that is present cannot be inserted");
  require(on.get(key) == std::optional<std::uint64_t>(1), "what was inserted is found");
  require(on.update(key, 3), "what was inserted can be changed");
  require(!on.put(key, 4), "put() changes what is there");
  require(on.get(key) == std::optional<std::uint64_t>(4), "what was put is found");
  require(on.erase(key), "what was inserted can be erased");
  require(!on.contains(key), "what was erased is gone");
  require(on.put(key, 5), "what was erased can be put");
}

/// Attaches a structure and works on it. Nothing if the pool refuses that, for reasons that it
/// says.
template <class Map>
std::optional<content> work_on(pool& in, const char* name, std::uint64_t key) {
  try {
    Map map(in, name);
    const content before = content_of(map);
    try {
      operate(map, key);
    } catch (const out_of_space&) {
    }
    content after = content_of(map);
    require(std::includes(after.begin(), after.end(), before.begin(), before.end()),
            "what was there stays there");
    return after;
  } catch (const error&) {
  } catch (const out_of_space&) {
  }
  return std::nullopt;
}

/// Everything that the control plane says of a pool, and a byte at each end of each region.
void look_around(pool& in) {
  (void)in.check();
  (void)in.guarantee();
  for (const region_info& region : in.regions()) {
    for (unsigned i = 0; i < region.replicas; i += std::max(region.replicas / 4, 1U)) {
      const volatile std::byte* const bytes = region.replica(i);
      (void)bytes[0];
      (void)bytes[region.bytes - 1];
    }
    if (region.shadow_copy != nullptr) {
      std::fill_n(region.shadow_copy, region.bytes, std::byte{1});
    }
  }
}

/// A root that says it was closed properly is taken at its word: its chain is not walked. Where the
/// file was corrupted that is not the case which is tried here.
bool may_attach(const pool& in, std::string_view name, bool untouched) {
  const auto roots = in.roots();
  const auto found = std::find_if(roots.begin(), roots.end(),
                                  [&](const root_info& each) { return each.name == name; });
  return found == roots.end() || !found->closed_cleanly || untouched;
}

/// What is in a queue, by its place.
content content_of(jobs& from) {
  content found;
  from.for_each([&](std::uint64_t value) { found.emplace(found.size(), value); });
  return found;
}

/// The same for a queue.
std::optional<content> work_on_jobs(pool& in) {
  try {
    jobs line(in, jobs_name);
    content expected = content_of(line);
    try {
      line.push(7);
      expected.emplace(expected.size(), 7);
      require(line.pop() == std::optional(expected.begin()->second), "what is first comes first");
      require(content_of(line).size() == expected.size() - 1, "what was popped is gone");
    } catch (const out_of_space&) {
    }
    return content_of(line);
  } catch (const error&) {
  } catch (const out_of_space&) {
  }
  return std::nullopt;
}

struct contents {
  std::optional<content> of_list;
  std::optional<content> of_table;
  std::optional<content> of_records;
  std::optional<content> of_texts;
  std::optional<content> of_counts;
  std::optional<content> of_ranges;
  std::optional<content> of_jobs;
};

/// Nobody ticks unless asked to, where the pool has a clock that can be had.
void use_epochs(pool& in, const recipe& input, contents& found) {
  try {
    stop_ticking(in);
  } catch (const error&) {
    return;
  } catch (const out_of_space&) {
    return;
  }
  found.of_counts = work_on<counts>(in, counts_name, input.keys);
  found.of_ranges = work_on<ranges>(in, ranges_name, input.keys);
  found.of_jobs = work_on_jobs(in);
}

contents use(pool& in, const recipe& input) {
  look_around(in);
  contents found;
  if (may_attach(in, list_name, input.untouched())) {
    found.of_list = work_on<list>(in, list_name, input.keys);
  }
  if (may_attach(in, table_name, input.untouched())) {
    found.of_table = work_on<table>(in, table_name, input.keys);
  }
  // Sets are read whole by each opening: whatever a root says about its closing.
  found.of_records = work_on<records>(in, records_name, input.keys);
  found.of_texts = work_on<texts>(in, texts_name, input.keys);
  if (seeds()[input.seed].has_epochs) use_epochs(in, input, found);
  try {
    (void)in.reserve_region("fuzz", region_kind::log, page_bytes);
  } catch (const error&) {
  } catch (const out_of_space&) {
  }
  return found;
}

void drop_roots(pool& in, contents& found) {
  for (const root_info& root : in.roots()) {
    try {
      in.drop_root(root.name);
    } catch (const error&) {
    }
    if (root.name == list_name) found.of_list.reset();
    if (root.name == table_name) found.of_table.reset();
    if (root.name == records_name) found.of_records.reset();
    if (root.name == texts_name) found.of_texts.reset();
    if (root.name == counts_name) found.of_counts.reset();
    if (root.name == ranges_name) found.of_ranges.reset();
    if (root.name == jobs_name) found.of_jobs.reset();
  }
}

/// False if the pool says why it cannot be closed as it should.
bool closes(pool& opened) {
  try {
    opened.close();
    return true;
  } catch (const error&) {
    return false;
  }
}

std::unique_ptr<pool> open_or_refuse(medium& in) {
  try {
    return in.open();
  } catch (const error&) {
    require(in.unchanged(), "a pool that is refused is not changed");
    return nullptr;
  }
}

template <class Map>
void require_content(pool& in, const char* name, const std::optional<content>& expected) {
  if (!expected) return;
  Map map(in, name);
  require(content_of(map) == *expected, "what a closed pool held is there when it is opened again");
}

/// Opens the pool again and looks whether everything is there.
void reopen(medium& in, const contents& expected) {
  const std::unique_ptr<pool> opened = in.open();
  look_around(*opened);
  require_content<list>(*opened, list_name, expected.of_list);
  require_content<table>(*opened, table_name, expected.of_table);
  require_content<records>(*opened, records_name, expected.of_records);
  require_content<texts>(*opened, texts_name, expected.of_texts);
  require_content<counts>(*opened, counts_name, expected.of_counts);
  require_content<ranges>(*opened, ranges_name, expected.of_ranges);
  require_content<jobs>(*opened, jobs_name, expected.of_jobs);
  opened->close();
}

/// `sound`: check_image() found nothing wrong, so the pool must bear to be opened again.
outcome exercise_in(medium& in, const recipe& input, bool sound) {
  std::unique_ptr<pool> opened = open_or_refuse(in);
  if (opened == nullptr) return outcome::refused;
  contents found = use(*opened, input);
  if (input.drop) drop_roots(*opened, found);
  if (!closes(*opened)) return outcome::opened;
  opened.reset();
  try {
    reopen(in, found);
  } catch (const error& refused) {
    if (sound) throw broken_promise(refused.what());
    return outcome::opened;
  }
  return outcome::reopened;
}

}  // namespace

outcome exercise(const recipe& input) {
  const std::span<const std::byte> image = prepare(input);
  pool_detail::test_hooks().boot = input.other_boot ? boot_id{9} : seed_boot;
  const bool sound = !has_errors(check_image(image));
  if (input.in_file) {
    in_file file(image, input);
    return exercise_in(file, input, sound);
  }
  in_memory memory(image, input);
  return exercise_in(memory, input, sound);
}

}  // namespace outlast::fuzz
