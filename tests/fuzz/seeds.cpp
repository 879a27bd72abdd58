#include <tests/fuzz/seeds.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <system_error>

namespace outlast::fuzz {
namespace {

using namespace pool_format;

/// How a seed's pool is left.
enum class ending { closed, killed };

using fill = std::function<void(pool&)>;

/// A pool in memory has no boot; a file that was not closed needs the one that the fuzzer pretends.
void name_boot(header_page& page) {
  for (state_slot* const slot : {&page.slot_0, &page.slot_1}) {
    if (slot->mark != mark_dirty) continue;
    slot->boot = seed_boot;
    seal(*slot);
  }
}

seed make(std::string_view name, ending how, bool with_shadow, const fill& work,
          unsigned format_version = 1) {
  const mapping memory(home_address, 2 * seed_bytes);
  pool_options options;
  options.reserve_shadow_copy = with_shadow;
  options.format_version = format_version;
  const auto target = pool::in_memory(memory.data(), seed_bytes, true, options);
  work(*target);
  const auto roots = target->roots();
  const bool with_epochs = std::any_of(
      roots.begin(), roots.end(), [](const root_info& each) { return each.name == counts_name; });
  if (how == ending::closed) target->close();
  name_boot(*reinterpret_cast<header_page*>(memory.data()));
  return {name, with_shadow, with_epochs, {memory.data(), memory.data() + seed_bytes}};
}

void fill_list(pool& target) {
  list words(target, list_name);
  for (std::uint64_t key = 1; key <= 6; ++key) words.insert(key * 3, key);
  words.erase(9);
  words.put(6, 60);
}

void fill_table(pool& target) {
  table words(target, table_name, {.buckets = 4, .growth_check_interval = 1});
  for (std::uint64_t key = 1; key <= 6; ++key) words.insert(key, key * 10);
  words.erase(4);
}

void fill_both(pool& target) {
  fill_list(target);
  fill_table(target);
}

template <class Map>
void fill_set(pool& target, const char* name) {
  Map words(target, name);
  for (std::uint64_t key = 1; key <= 6; ++key) words.insert(key, key * 10);
  words.erase(4);
  words.put(2, 21);
}

void fill_sets(pool& target) {
  fill_set<records>(target, records_name);
  fill_set<texts>(target, texts_name);
}

/// Of the last two epochs a crash leaves nothing, and what is given up in them comes back.
void fill_epochs(pool& target) {
  stop_ticking(target);
  epoch::clock<domain::native>& clock = epoch::clock_of(target);
  counts words(target, counts_name, {.buckets = 4});
  ranges sorted(target, ranges_name);
  jobs line(target, jobs_name);
  for (std::uint64_t key = 1; key <= 6; ++key) {
    words.insert(key, key * 10);
    sorted.insert(key, key * 100);
    line.push(key);
    if (key % 2 == 0) clock.tick();
  }
  words.erase(4);
  words.put(2, 21);
  sorted.erase(3);
  (void)line.pop();
}

/// A block too large for a span, an unpublished root, regions of several kinds.
void fill_rest(pool& target) {
  fill_list(target);
  (void)target.reserve_region("log", region_kind::log, 5000);
  (void)target.reserve_region("copies", region_kind::replicas, 4096, 2);
  const attached_root root = target.attach_root("half", "half", 1, true);
  (void)target.pages().allocate_run(run_kind::large, root.index, 1, 2, 2 * page_bytes);
}

void fill_shadow(pool& target) {
  fill_table(target);
  (void)target.reserve_region("twin", region_kind::shadow_copy, 4096);
}

}  // namespace

mapping::mapping(std::uintptr_t address, std::size_t bytes) : bytes_(bytes) {
  void* const got = ::mmap(reinterpret_cast<void*>(address), bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), "no memory for a pool");
  }
  data_ = static_cast<std::byte*>(got);
}

mapping::~mapping() { ::munmap(data_, bytes_); }

const std::vector<seed>& seeds() {
  static const std::vector<seed> all = [] {
    std::vector<seed> made;
    made.push_back(make("empty", ending::closed, false, [](pool&) {}));
    made.push_back(make("list", ending::closed, false, fill_list));
    made.push_back(make("table", ending::closed, false, fill_table));
    made.push_back(make("list killed", ending::killed, false, fill_list));
    made.push_back(make("table killed", ending::killed, false, fill_table));
    made.push_back(make("both killed", ending::killed, false, fill_both));
    made.push_back(make("regions killed", ending::killed, false, fill_rest));
    made.push_back(make("twins", ending::closed, true, fill_shadow));
    made.push_back(make("sets", ending::closed, false, fill_sets));
    made.push_back(make("sets killed", ending::killed, false, fill_sets));
    made.push_back(make("epochs", ending::closed, false, fill_epochs));
    made.push_back(make("epochs killed", ending::killed, false, fill_epochs));
    made.push_back(make("both 2", ending::closed, false, fill_both, 2));
    made.push_back(make("regions killed 2", ending::killed, false, fill_rest, 2));
    made.push_back(make("sets killed 2", ending::killed, false, fill_sets, 2));
    made.push_back(make("epochs killed 2", ending::killed, false, fill_epochs, 2));
    return made;
  }();
  return all;
}

}  // namespace outlast::fuzz
