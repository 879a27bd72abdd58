// The simulated memory: pending stores, crash images and frames.
#include <outlast/verify/machine/memory.hpp>

#include <outlast/base/error.hpp>
#include <outlast/base/hash.hpp>

#include <algorithm>
#include <cstring>
#include <functional>

#include <sys/mman.h>

namespace outlast::verify {
namespace {

/// Addresses that are free under every sanitizer and not used by address randomisation. Each
/// explorer of a process uses one.
constexpr std::uintptr_t first_base = 0x5530'0000'0000;
constexpr std::uintptr_t base_stride = 0x0000'4000'0000;
constexpr unsigned bases = 16;

std::byte* map_at(std::uintptr_t address, std::size_t size, int extra) {
  void* const got = ::mmap(reinterpret_cast<void*>(address), size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | extra, -1, 0);
  return got == MAP_FAILED ? nullptr : static_cast<std::byte*>(got);
}

std::byte* map_arena(std::size_t size) {
  for (unsigned i = 0; i < bases; ++i) {
    const std::uintptr_t wish = first_base + i * base_stride;
    std::byte* const got = map_at(wish, size, MAP_FIXED_NOREPLACE);
    if (reinterpret_cast<std::uintptr_t>(got) == wish) return got;
    if (got != nullptr) ::munmap(got, size);
  }
  if (std::byte* const anywhere = map_at(0, size, 0)) return anywhere;
  throw error(errc::address_taken, "", "no memory for the simulated machine");
}

std::uint64_t word_hash(std::uint32_t line, unsigned offset, std::uint64_t value) noexcept {
  const std::uint64_t place = (std::uint64_t{line} << 6 | offset) * 0x9e3779b97f4a7c15ULL;
  return base::mix64(place ^ base::mix64(value));
}

/// A store that is in a persistent cache survives; one that is still in a store buffer does not.
/// The first without the second would prove too much.
memory_model complete(memory_model model) {
  model.store_buffers = model.store_buffers || model.cache_persistent;
  return model;
}

}  // namespace

std::string to_text(const memory_model& model) {
  std::string name = model.rmw_fences ? "x86" : "portable";
  if (model.store_buffers) name += "+store_buffers";
  if (model.cache_persistent) name = "cache_persistent";
  return model.weak_same_line ? name + "+weak_same_line" : name;
}

memory_model memory_model_from_text(const std::string& text) {
  for (const bool weak : {false, true}) {
    for (const memory_model machine :
         {memory_model{}, memory_model{.store_buffers = true}, memory_model{.rmw_fences = true},
          memory_model{.rmw_fences = true, .store_buffers = true},
          memory_model{.cache_persistent = true, .store_buffers = true}}) {
      memory_model candidate = machine;
      candidate.weak_same_line = weak;
      if (to_text(candidate) == text) return candidate;
    }
  }
  throw error(errc::bad_argument, "",
              "a memory model is portable or x86, perhaps with +store_buffers, or "
              "cache_persistent, perhaps with +weak_same_line; not '" +
                  text + "'");
}

memory::memory(std::size_t bytes, unsigned threads, memory_model model)
    : live_(map_arena(bytes)),
      media_(new std::byte[bytes]()),
      size_(bytes),
      model_(complete(model)),
      lines_(bytes / line_size),
      dirty_position_(bytes / line_size, -1),
      saved_in_(bytes / line_size, 0),
      threads_(threads),
      buffers_(threads) {}

memory::~memory() { ::munmap(live_, size_); }

std::uint32_t memory::line_of(const void* address) const noexcept {
  return static_cast<std::uint32_t>(
      static_cast<std::size_t>(static_cast<const std::byte*>(address) - live_) / line_size);
}

std::uint64_t memory::on_media(const void* address) const noexcept {
  const auto offset = static_cast<unsigned>(static_cast<const std::byte*>(address) - live_);
  return *media_word(offset / line_size, offset % line_size);
}

std::uint64_t* memory::live_word(std::uint32_t line, unsigned offset) const noexcept {
  return reinterpret_cast<std::uint64_t*>(live_ + std::size_t{line} * line_size + offset);
}

std::uint64_t* memory::media_word(std::uint32_t line, unsigned offset) const noexcept {
  return reinterpret_cast<std::uint64_t*>(media_.get() + std::size_t{line} * line_size + offset);
}

void memory::store(unsigned thread, void* destination, const void* source, std::size_t size,
                   store_kind kind, site_id site, bool untorn) {
  auto* to = static_cast<std::byte*>(destination);
  const auto* from = static_cast<const std::byte*>(source);
  if (untorn && size == 16) {
    std::uint64_t both[2];
    std::memcpy(both, from, 16);
    append(thread, to, both, 2, kind, site);
    return;
  }
  while (size > 0) {
    const std::size_t skip = reinterpret_cast<std::uintptr_t>(to) % 8;
    const std::size_t part = std::min(size, 8 - skip);
    std::uint64_t word;
    std::memcpy(&word, to - skip, 8);
    std::memcpy(reinterpret_cast<std::byte*>(&word) + skip, from, part);
    append(thread, to - skip, &word, 1, kind, site);
    to += part;
    from += part;
    size -= part;
  }
}

void memory::append(unsigned thread, std::byte* word, const std::uint64_t* value, unsigned words,
                    store_kind kind, site_id site) {
  const std::uint32_t line = line_of(word);
  touch(line);
  pending_store entry{};
  entry.sequence = ++sequence_;
  entry.offset = static_cast<std::uint8_t>(reinterpret_cast<std::uintptr_t>(word) % line_size);
  entry.words = static_cast<std::uint8_t>(words);
  entry.kind = kind;
  entry.thread = static_cast<std::uint8_t>(thread);
  entry.site = site;
  std::memcpy(entry.value, value, words * 8);
  std::memcpy(word, value, words * 8);
  if (lines_[line].size() == max_pending) {
    ++forced_;
    const std::uint64_t oldest = lines_[line].front().sequence;
    move_to_media(line, [&](const pending_store& e) { return e.sequence == oldest; });
  }
  lines_[line].push_back(entry);
  make_dirty(line);
  if (model_.cache_persistent && kind != store_kind::streamed) {
    move_to_media(line, [&](const pending_store& e) { return e.sequence == entry.sequence; });
  }
  if (kind == store_kind::streamed) threads_[thread].streamed.push_back(line);
  ++version_;
}

std::uint64_t memory::state_hash() const {
  std::uint64_t hash = media_hash_;  // a sum of independent parts
  for (const std::uint32_t line : dirty_) {
    std::uint64_t of_line = base::mix64(line);
    for (const pending_store& each : lines_[line]) {
      of_line = base::mix64(of_line + each.value[0]);
      of_line = base::mix64(of_line + each.value[1]);
      of_line = base::mix64(
          of_line + (std::uint64_t{each.offset} << 24 | std::uint64_t{each.words} << 16 |
                     std::uint64_t{each.thread} << 8 | static_cast<std::uint64_t>(each.kind)));
    }
    hash += of_line;
  }
  for (std::size_t t = 0; t < threads_.size(); ++t) {
    for (const flushed& each : threads_[t].flushes) {
      const std::vector<pending_store>& stores = lines_[each.line];
      const auto covered = static_cast<std::uint64_t>(
          std::count_if(stores.begin(), stores.end(),
                        [&](const pending_store& one) { return one.sequence <= each.upto; }));
      if (covered != 0) hash += base::mix64(base::mix64(t << 32 | each.line) + covered);
    }
    for (const std::uint32_t line : threads_[t].streamed) hash += base::mix64(t << 40 | line);
  }
  return hash;
}

void memory::touch(std::uint32_t line) {
  if (depth_ == 0) return;
  const auto bit = static_cast<std::uint16_t>(1U << (depth_ - 1));
  if ((saved_in_[line] & bit) != 0) return;
  saved_in_[line] |= bit;
  saved_line& saved = frames_[depth_ - 1].undo.emplace_back();
  saved.line = line;
  std::memcpy(saved.live, live_word(line, 0), line_size);
  std::memcpy(saved.media, media_word(line, 0), line_size);
}

void memory::make_dirty(std::uint32_t line) {
  if (dirty_position_[line] >= 0) return;
  dirty_position_[line] = static_cast<std::int32_t>(dirty_.size());
  dirty_.push_back(line);
}

void memory::make_clean(std::uint32_t line) {
  const auto hole = static_cast<std::size_t>(dirty_position_[line]);
  dirty_[hole] = dirty_.back();
  dirty_position_[dirty_[hole]] = static_cast<std::int32_t>(hole);
  dirty_.pop_back();
  dirty_position_[line] = -1;
}

void memory::write_media_word(std::uint32_t line, unsigned offset, std::uint64_t value) {
  std::uint64_t* const word = media_word(line, offset);
  media_hash_ ^= word_hash(line, offset, *word) ^ word_hash(line, offset, value);
  *word = value;
}

void memory::write_media(std::uint32_t line, const pending_store& entry) {
  for (unsigned w = 0; w < entry.words; ++w) {
    write_media_word(line, entry.offset + 8 * w, entry.value[w]);
  }
}

/// Moves guaranteed stores to the media and drops the stores that they overwrite.
template <class Guaranteed>
void memory::move_to_media(std::uint32_t line, Guaranteed&& guaranteed) {
  std::vector<pending_store>& entries = lines_[line];
  std::size_t kept = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const pending_store entry = entries[i];
    if (!guaranteed(entry)) {
      entries[kept++] = entry;
      continue;
    }
    write_media(line, entry);
    const auto overwritten = [&](const pending_store& e) {
      return e.offset == entry.offset && e.words <= entry.words;
    };
    const auto begin = entries.begin();
    kept = static_cast<std::size_t>(
        std::remove_if(begin, begin + static_cast<std::ptrdiff_t>(kept), overwritten) - begin);
  }
  entries.resize(kept);
  if (kept == 0 && dirty_position_[line] >= 0) make_clean(line);
  ++version_;
}

void memory::write_back(unsigned thread, const void* address) {
  auto* const place = live_ + (static_cast<const std::byte*>(address) - live_);
  if (model_.store_buffers && buffers_.push_flush(thread, place)) return;
  start_write_back(thread, address);
}

void memory::start_write_back(unsigned thread, const void* address) {
  const std::uint32_t line = line_of(address);
  if (lines_[line].empty()) return;
  threads_[thread].flushes.push_back({line, lines_[line].back().sequence});
}

bool memory::fence_matters(unsigned thread) const noexcept {
  const thread_state& state = threads_[thread];
  const auto at_risk = [&](const flushed& f) {
    return std::any_of(lines_[f.line].begin(), lines_[f.line].end(), [&](const pending_store& e) {
      return e.sequence <= f.upto && e.kind != store_kind::streamed;
    });
  };
  return !state.streamed.empty() ||
         std::any_of(state.flushes.begin(), state.flushes.end(), at_risk);
}

void memory::fence(unsigned thread) {
  thread_state& state = threads_[thread];
  for (const flushed& f : state.flushes) {
    if (lines_[f.line].empty() || lines_[f.line].front().sequence > f.upto) continue;
    touch(f.line);
    move_to_media(f.line, [&](const pending_store& e) {
      return e.sequence <= f.upto && e.kind != store_kind::streamed;
    });
  }
  state.flushes.clear();
  for (const std::uint32_t line : state.streamed) {
    touch(line);
    move_to_media(line, [&](const pending_store& e) {
      return e.kind == store_kind::streamed && e.thread == thread;
    });
  }
  state.streamed.clear();
}

// --- store buffers ---

void memory::buffer_store(unsigned thread, void* destination, const void* source, std::size_t size,
                          store_kind kind, site_id site, bool untorn) {
  buffered entry{};
  entry.what = buffered::instruction::store;
  entry.kind = kind;
  entry.untorn = untorn;
  entry.outside = !contains(destination);
  entry.size = static_cast<std::uint8_t>(size);
  entry.site = site;
  entry.address = static_cast<std::byte*>(destination);
  std::memcpy(entry.value.data(), source, size);
  buffers_.push(thread, entry);
}

void memory::buffer_fence(unsigned thread) {
  buffered entry{};
  entry.what = buffered::instruction::fence;
  buffers_.push(thread, entry);
}

void memory::drain_one(unsigned thread) {
  const buffered& oldest = buffers_.of(thread).front();
  if (oldest.what == buffered::instruction::fence) {
    drain_fence(thread);
  } else {
    drain_store(thread, oldest.address);
  }
  drain_flushes(thread);
}

void memory::drain_flushes(unsigned thread) {
  while (!buffers_.empty(thread) &&
         buffers_.of(thread).front().what == buffered::instruction::flush) {
    start_write_back(thread, buffers_.pop(thread).address);
  }
}

/// Completes the instructions that an ended process had issued. Its own memory is gone, except
/// `kept`. The words that represent it here belong to threads that continue after the crash has
/// been examined.
void memory::drain_dead(unsigned thread, std::span<const std::byte> kept) {
  const buffered& oldest = buffers_.of(thread).front();
  if (oldest.what != buffered::instruction::store || !oldest.outside) {
    drain_one(thread);
    return;
  }
  const buffered waiting = buffers_.pop(thread);
  const std::less<const std::byte*> is_before;
  const bool is_kept = !is_before(waiting.address, kept.data()) &&
                       is_before(waiting.address, kept.data() + kept.size());
  if (is_kept) execute(thread, waiting);
  drain_flushes(thread);
}

/// Saves every line that the fence guarantees, with the content that all threads see.
void memory::drain_fence(unsigned thread) {
  buffers_.lift();
  static_cast<void>(buffers_.pop(thread));
  fence(thread);
  buffers_.lay();
}

void memory::drain_store(unsigned thread, const std::byte* address) {
  buffers_.lift_line(address);
  execute(thread, buffers_.pop(thread));
  buffers_.lay_line(address);
}

void memory::execute(unsigned thread, const buffered& waiting) {
  if (waiting.outside) {
    std::memcpy(waiting.address, waiting.value.data(), waiting.size);
  } else {
    store(thread, waiting.address, waiting.value.data(), waiting.size, waiting.kind, waiting.site,
          waiting.untorn);
  }
}

void memory::discard_buffers() {
  buffers_.lift_simulated();
  buffers_.drop();
}

// --- crashes ---

bool memory::ordered(std::span<const pending_store> entries) const noexcept {
  return !model_.weak_same_line && std::none_of(entries.begin(), entries.end(), [](const auto& e) {
    return e.kind == store_kind::streamed;
  });
}

/// Returns true if each store of the set has the earlier stores of its line that must precede it.
bool memory::may_survive(std::span<const pending_store> entries, std::uint64_t set) const {
  std::uint64_t ordinary = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    if (entries[i].kind == store_kind::streamed) continue;
    const bool waits = !model_.weak_same_line || entries[i].kind == store_kind::release;
    if ((set & bit) != 0 && waits && (set & ordinary) != ordinary) return false;
    ordinary |= bit;
  }
  return true;
}

/// Returns true for the largest of the sets that differ only in stores that recovery clears.
bool memory::represents_its_like(std::span<const pending_store> entries, std::uint64_t set) const {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    if (entries[i].kind != store_kind::cleared || (set & bit) != 0) continue;
    if (may_survive(entries, set | bit)) return false;
  }
  return true;
}

std::vector<std::uint64_t> memory::survivor_sets(std::uint32_t line) const {
  const std::vector<pending_store>& entries = lines_[line];
  const std::size_t n = entries.size();
  const std::uint64_t all = (std::uint64_t{1} << n) - 1;
  std::vector<std::uint64_t> sets;
  const auto offer = [&](std::uint64_t set) {
    if (may_survive(entries, set) && represents_its_like(entries, set)) sets.push_back(set);
  };
  if (!ordered(entries) && n <= 6) {
    for (std::uint64_t set = 0; set <= all; ++set) offer(set);
    return sets;
  }
  for (std::size_t i = 0; i < n; ++i) offer((std::uint64_t{1} << i) - 1);
  if (!ordered(entries)) {
    for (std::size_t i = 1; i < n; ++i) offer(std::uint64_t{1} << i);
    for (std::size_t i = 0; i + 1 < n; ++i) offer(all & ~(std::uint64_t{1} << i));
  }
  sets.push_back(all);
  return sets;
}

std::uint64_t memory::image_hash(const crash_choice& choice) const {
  std::uint64_t hash = media_hash_;
  for (std::size_t d = 0; d < choice.size(); ++d) {
    const std::uint32_t line = dirty_[d];
    const std::vector<pending_store>& entries = lines_[line];
    std::uint64_t words[8];
    std::memcpy(words, media_word(line, 0), line_size);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if ((choice[d] >> i & 1) == 0) continue;
      std::memcpy(&words[entries[i].offset / 8], entries[i].value, entries[i].words * 8U);
    }
    for (unsigned w = 0; w < 8; ++w) {
      const std::uint64_t before = *media_word(line, 8 * w);
      if (before == words[w]) continue;
      hash ^= word_hash(line, 8 * w, before) ^ word_hash(line, 8 * w, words[w]);
    }
  }
  return hash;
}

memory::frame& memory::push_frame() {
  if (frames_.size() == depth_) frames_.emplace_back();
  frame& f = frames_[depth_++];
  if (freed_.size() == depth_) freed_.emplace_back();
  freed_[depth_].clear();
  f.undo.clear();
  f.dirty = dirty_;
  f.threads = threads_;
  if (model_.store_buffers) f.buffers = buffers_;
  f.media_hash = media_hash_;
  f.killed = killed_;
  f.boot = boot_;
  if (f.pending.size() < dirty_.size()) f.pending.resize(dirty_.size());
  for (std::size_t d = 0; d < dirty_.size(); ++d) {
    touch(dirty_[d]);
    f.pending[d] = lines_[dirty_[d]];
  }
  return f;
}

void memory::enter_checkpoint() {
  buffers_.lift_simulated();
  push_frame();
  buffers_.lay_simulated();
}

void memory::enter_killed(std::span<const std::byte> kept) {
  buffers_.lift_simulated();
  push_frame();
  for (unsigned t = 0; t < threads_.size(); ++t) {
    while (!buffers_.empty(t)) drain_dead(t, kept);
  }
  for (thread_state& state : threads_) state = {};
  killed_ = true;
  ++version_;
}

void memory::enter(const crash_choice& choice) {
  buffers_.lift_simulated();
  const frame& f = push_frame();
  buffers_.drop();
  for (std::size_t d = 0; d < f.dirty.size(); ++d) {
    const std::uint32_t line = f.dirty[d];
    std::vector<pending_store>& entries = lines_[line];
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if ((choice[d] >> i & 1) != 0) write_media(line, entries[i]);
    }
    std::memcpy(live_word(line, 0), media_word(line, 0), line_size);
    entries.clear();
    dirty_position_[line] = -1;
  }
  dirty_.clear();
  for (thread_state& state : threads_) state = {};
  killed_ = false;
  ++boot_;
  ++version_;
}

void memory::leave() {
  buffers_.lift_simulated();
  frame& f = frames_[--depth_];
  for (const std::uint32_t line : dirty_) {
    lines_[line].clear();
    dirty_position_[line] = -1;
  }
  const auto bit = static_cast<std::uint16_t>(1U << depth_);
  for (const saved_line& saved : f.undo) {
    std::memcpy(live_word(saved.line, 0), saved.live, line_size);
    std::memcpy(media_word(saved.line, 0), saved.media, line_size);
    saved_in_[saved.line] &= static_cast<std::uint16_t>(~bit);
  }
  dirty_ = f.dirty;
  for (std::size_t d = 0; d < dirty_.size(); ++d) {
    lines_[dirty_[d]].swap(f.pending[d]);
    dirty_position_[dirty_[d]] = static_cast<std::int32_t>(d);
  }
  threads_.swap(f.threads);
  if (model_.store_buffers) std::swap(buffers_, f.buffers);
  media_hash_ = f.media_hash;
  killed_ = f.killed;
  boot_ = f.boot;
  buffers_.lay_simulated();
  ++version_;
}

void memory::settle() {
  for (unsigned t = 0; t < threads_.size(); ++t) {
    while (!buffers_.empty(t)) drain_one(t);
  }
  while (!dirty_.empty()) {
    const std::uint32_t line = dirty_.back();
    touch(line);
    move_to_media(line, [](const pending_store&) { return true; });
  }
  for (thread_state& state : threads_) state = {};
}

void memory::clear(std::byte content) {
  settle();
  freed().clear();
  std::memset(live_, std::to_integer<int>(content), size_);
  std::memset(media_.get(), std::to_integer<int>(content), size_);
  media_hash_ = 0;
  ++version_;
}

/// Applies the running thread's buffered stores to `line` over the content that all threads see.
void memory::lay_over(std::uint32_t line, std::byte* content) const {
  const std::byte* const begin = live_ + std::size_t{line} * line_size;
  for (const buffered& e : buffers_.of(buffers_.viewer())) {
    if (e.what != buffered::instruction::store || e.outside || line_of(e.address) != line) continue;
    std::memcpy(content + (e.address - begin), e.value.data(), e.size);
  }
}

const void* memory::foreign_store_in(std::uint32_t line) const {
  std::uint64_t expected[8];
  std::memcpy(expected, media_word(line, 0), line_size);
  for (const pending_store& e : lines_[line]) {
    std::memcpy(&expected[e.offset / 8], e.value, e.words * 8U);
  }
  lay_over(line, reinterpret_cast<std::byte*>(expected));
  const std::uint64_t* const seen = live_word(line, 0);
  const auto [difference, end] = std::mismatch(seen, seen + 8, expected);
  return difference == seen + 8 ? nullptr : difference;
}

const void* memory::foreign_store_in_touched_lines() const {
  if (depth_ == 0) return nullptr;
  for (const saved_line& saved : frames_[depth_ - 1].undo) {
    if (const void* const found = foreign_store_in(saved.line)) return found;
  }
  return nullptr;
}

const void* memory::foreign_store_anywhere() const {
  for (std::uint32_t line = 0; line < lines_.size(); ++line) {
    if (std::memcmp(live_word(line, 0), media_word(line, 0), line_size) == 0) continue;
    if (const void* const found = foreign_store_in(line)) return found;
  }
  return nullptr;
}

}  // namespace outlast::verify
