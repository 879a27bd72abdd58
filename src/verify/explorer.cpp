#include <outlast/verify/explorer.hpp>

#include <outlast/base/hash.hpp>

#include <algorithm>
#include <chrono>
#include <sstream>

namespace outlast::verify {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::uint64_t hash_of(const abstract_state& state) {
  std::uint64_t hash = state.size();
  for (const std::uint64_t word : state) hash = base::mix64(hash * 31 + word + 1);
  return hash;
}

/// Takes the content of volatile globals away for the time of a crash.
class emptied {
 public:
  explicit emptied(std::span<std::byte> globals) : globals_(globals) {
    if (globals_.empty()) return;
    before_.assign(globals_.begin(), globals_.end());
    std::fill(globals_.begin(), globals_.end(), std::byte{});
  }
  ~emptied() { std::copy(before_.begin(), before_.end(), globals_.begin()); }
  emptied(const emptied&) = delete;
  emptied& operator=(const emptied&) = delete;

 private:
  std::span<std::byte> globals_;
  std::vector<std::byte> before_;
};

}  // namespace

/// The images met in a scenario: open addressing, nothing is ever removed singly.
class explorer::image_set {
 public:
  image_set() : slots_(1U << 12, 0) {}

  bool insert(std::uint64_t key) {
    key |= 1;
    if ((count_ + 1) * 2 > slots_.size()) grow();
    std::uint64_t& slot = slot_of(key);
    if (slot == key) return false;
    slot = key;
    ++count_;
    return true;
  }
  void clear() {
    if (count_ > 0) std::fill(slots_.begin(), slots_.end(), 0);
    count_ = 0;
  }

 private:
  std::uint64_t& slot_of(std::uint64_t key) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = base::mix64(key) & mask;
    while (slots_[at] != 0 && slots_[at] != key) at = (at + 1) & mask;
    return slots_[at];
  }
  void grow() {
    std::vector<std::uint64_t> old(slots_.size() * 2, 0);
    old.swap(slots_);
    for (const std::uint64_t key : old) {
      if (key != 0) slot_of(key) = key;
    }
  }

  std::vector<std::uint64_t> slots_;
  std::size_t count_ = 0;
};

explorer::explorer(subject& tested, const options& how)
    : tested_(tested),
      how_(how),
      machine_(tested.memory_bytes(), how.within.threads, how.model, {}),
      images_(std::make_unique<image_set>()) {
  machine_.observe_crash_points(this);
  machine_.mute(how.muted);
  machine_.offer_crash_after_stores(how.crash_after_stores || how.model.cache_persistent);
  lives_.reserve(8);
}

explorer::~explorer() = default;

// --- crashes ---

void explorer::crash_point() {
  if (!armed_ || counts_.found || late_) return;
  life& here = lives_.back();
  memory& media = machine_.memory();
  if (here.last_version == media.version() && here.last_history == here.seen->hash()) return;
  here.last_version = media.version();
  here.last_history = here.seen->hash();
  check_seam(false);
  ++counts_.crash_points;
  std::vector<std::vector<std::uint64_t>> sets;
  std::uint64_t product = 1;
  for (const std::uint32_t line : media.dirty_lines()) {
    sets.push_back(media.survivor_sets(line));
    product = std::min<std::uint64_t>(product * sets.back().size(), 1U << 20);
  }
  if (product <= how_.eviction_cap) {
    try_all(sets);
  } else {
    try_some(sets);
  }
  lives_.back().last_version = media.version();
}

void explorer::try_all(const std::vector<std::vector<std::uint64_t>>& sets) {
  std::vector<std::size_t> index(sets.size(), 0);
  crash_choice choice(sets.size());
  while (!counts_.found) {
    for (std::size_t d = 0; d < sets.size(); ++d) choice[d] = sets[d][index[d]];
    consider(choice);
    std::size_t d = 0;
    while (d < sets.size() && ++index[d] == sets[d].size()) index[d++] = 0;
    if (d == sets.size()) return;
  }
}

/// Nothing, everything, each line alone, all lines but one, and some at random.
void explorer::try_some(const std::vector<std::vector<std::uint64_t>>& sets) {
  ++counts_.sampled_points;
  const std::size_t lines = sets.size();
  crash_choice none(lines);
  crash_choice all(lines);
  for (std::size_t d = 0; d < lines; ++d) {
    none[d] = sets[d].front();
    all[d] = sets[d].back();
  }
  consider(none);
  consider(all);
  for (std::size_t d = 0; d < lines && !counts_.found; ++d) {
    crash_choice one = none;
    one[d] = all[d];
    consider(one);
    one = all;
    one[d] = none[d];
    consider(one);
  }
  random source(scene_.seed, machine_.memory().image_hash(all));
  for (unsigned i = 0; i < how_.eviction_samples && !counts_.found; ++i) {
    crash_choice any(lines);
    for (std::size_t d = 0; d < lines; ++d) any[d] = sets[d][source.below(sets[d].size())];
    consider(any);
  }
}

void explorer::consider(const crash_choice& choice) {
  if (counts_.found || late_) return;
  if (++counts_.crash_images % 256 == 0 && how_.seconds > 0) {
    late_ = now() - started_ > how_.seconds + 1;
  }
  const life before = lives_.back();
  memory& media = machine_.memory();
  std::uint64_t key = media.image_hash(choice) ^ base::mix64(before.seen->hash() + lives_.size());
  key = base::mix64(key + hash_of(*before.initial));
  if (!images_->insert(key)) return;
  ++counts_.images_checked;
  if (lives_.size() > 1) ++counts_.nested_checked;
  crash(choice, before, key);
  if (counts_.found) describe_crash(choice);
}

void explorer::crash(const crash_choice& choice, const life& before, std::uint64_t key) {
  const std::size_t depth = lives_.size();
  const emptied globals(tested_.volatile_globals());
  machine_.memory().enter(choice);
  const mishap ended = machine_.run_alone([&] { live_again(before, key); });
  lives_.resize(depth, before);
  machine_.memory().leave();
  armed_ = true;
  fail_if(ended, "after a crash, the recovered subject");
}

/// A function of the image and its history alone, so that skipping images met before loses nothing.
bool explorer::nests(std::uint64_t key) const {
  return lives_.size() <= how_.nested && (lives_.size() > 1 || key % how_.nested_one_in == 0);
}

/// On the image of a crash: recover, judge, and go on.
void explorer::live_again(const life& before, std::uint64_t key) {
  armed_ = nests(key);
  lives_.push_back({before.initial, before.seen});
  std::unique_ptr<world> recovered = tested_.open(machine_.memory().bytes(), false);
  const struct disarm {  // no crash points while `recovered` is destroyed
    bool& armed;
    ~disarm() { armed = false; }
  } before_destruction{armed_};
  abstract_state state;
  judge(*recovered, before, state, "after a crash", true);
  if (!counts_.found && armed_) go_on_living(*recovered, state, key);
  lives_.pop_back();
}

void explorer::go_on_living(world& recovered, const abstract_state& state, std::uint64_t seed) {
  history seen;
  life& mine = lives_.back();
  mine = {&state, &seen};
  random source(seed);
  for (unsigned i = 0; i < how_.operations_after && !counts_.found; ++i) {
    const call what = tested_.judge().draw(source, how_.within, 1000 + i);
    const std::size_t number = seen.invoke(0, what);
    const outcome answer = recovered.apply(what);
    crash_point();
    seen.respond(number, answer);
  }
  crash_point();
  abstract_state after;
  if (!counts_.found) judge(recovered, mine, after, "in the operations after a crash", false);
}

void explorer::judge(world& opened, const life& lived, abstract_state& state, const char* when,
                     bool directly_after_opening) {
  state = opened.observe();
  const std::string wrong = opened.check(directly_after_opening);
  if (!wrong.empty()) fail(std::string(when) + ", the subject is inconsistent: " + wrong);
  const oracle& law = tested_.judge();
  if (directly_after_opening ? law.explains_after_crash(*lived.initial, *lived.seen, state)
                             : law.explains(*lived.initial, *lived.seen, state)) {
    return;
  }
  fail(std::string(when) + ", no order of the operations explains " +
       tested_.judge().describe(state) + " (it began with " +
       tested_.judge().describe(*lived.initial) + ")");
}

// --- scenarios and executions ---

bool explorer::build_scenario(std::uint64_t seed) {
  scene_ = {};
  scene_.seed = seed;
  images_->clear();
  machine_.memory().clear();
  random source(seed, 0);
  const std::span<std::byte> globals = tested_.volatile_globals();
  std::fill(globals.begin(), globals.end(), std::byte{});
  const bool created_under_crashes = source.one_in(8);
  const mishap ended = machine_.run_alone(
      [&] { created_under_crashes ? tested_.format(machine_.memory().bytes()) : prefill(source); });
  fail_if(ended, "setting a scenario up, the subject");
  machine_.memory().settle();
  std::uint64_t serial = how_.within.prefill;
  scene_.calls.resize(how_.within.threads);
  for (unsigned i = 0; i < how_.within.operations; ++i) {
    for (auto& calls : scene_.calls) {
      calls.push_back(tested_.judge().draw(source, how_.within, serial++));
    }
  }
  ++counts_.scenarios;
  return !counts_.found;
}

void explorer::prefill(random& source) {
  std::unique_ptr<world> fresh = tested_.open(machine_.memory().bytes(), true);
  const abstract_state nothing = fresh->observe();
  history_.clear();
  for (unsigned i = 0; i < how_.within.prefill; ++i) {
    const call what = tested_.judge().draw(source, how_.within, i);
    const std::size_t number = history_.invoke(0, what);
    history_.respond(number, fresh->apply(what));
  }
  judge(*fresh, {&nothing, &history_}, scene_.initial, "before any crash", false);
  if (source.one_in(2) || tested_.judge().closing()) fresh->close();
}

void explorer::open_for_execution() {
  fail_if(machine_.run_alone([&] { world_ = tested_.open(machine_.memory().bytes(), false); }),
          "when opened, the subject");
}

void explorer::run_thread(unsigned thread) {
  for (const call& what : scene_.calls[thread]) {
    if (counts_.found) return;
    crash_point();
    machine_.access();
    const std::size_t number = history_.invoke(thread, what);
    const outcome answer = world_->apply(what);
    crash_point();
    history_.respond(number, answer);
  }
}

void explorer::execute(std::uint64_t number, strategy& order) {
  execution_ = number;
  history_.clear();
  lives_.assign(1, {&scene_.initial, &history_});
  memory& media = machine_.memory();
  media.enter_checkpoint();
  armed_ = true;
  open_for_execution();
  machine_.prepare_decisions(random(scene_.seed, number + 1), scene_.horizon);
  wrecked_ = false;
  if (!counts_.found) {
    const auto body = [this](unsigned t) { run_thread(t); };
    const mishap ended = machine_.run_threads(how_.within.threads, body, order);
    wrecked_ = ended.has_value();
    fail_if(ended, "while threads ran,");
  }
  if (!counts_.found) finish_execution(number);
  armed_ = false;
  if (wrecked_) static_cast<void>(world_.release());
  world_.reset();
  media.leave();
  ++counts_.executions;
}

void explorer::finish_execution(std::uint64_t number) {
  crash_point();
  if (number % 16 == 0) check_seam(true);
  abstract_state state;
  fail_if(machine_.run_alone([&] {
    judge(*world_, lives_.front(), state, "without any crash", false);
    if (!how_.close_at_end || number % 4 != 0 || counts_.found) return;
    const std::optional<call> closing = tested_.judge().closing();
    const std::size_t closed = closing ? history_.invoke(0, *closing) : 0;
    world_->close();
    if (closing) history_.respond(closed, {true});
  }),
          "at the end of an execution, the subject");
  crash_point();
}

void explorer::check_seam(bool everywhere) {
  const memory& media = machine_.memory();
  const void* const stranger =
      everywhere ? media.stranger_anywhere() : media.stranger_in_touched_lines();
  if (stranger == nullptr) return;
  std::ostringstream out;
  out << "a store went around the domain: the word at offset "
      << static_cast<const std::byte*>(stranger) - media.bytes().data()
      << " of the memory changed behind it";
  fail(out.str());
}

bool explorer::time_is_up() const {
  if (how_.max_executions != 0 && counts_.executions >= how_.max_executions) return true;
  return how_.seconds > 0 && now() - started_ >= how_.seconds;
}

std::unique_ptr<strategy> explorer::chosen_strategy() const {
  return how_.strategy == strategy_kind::random ? random_strategy() : pct_strategy(how_.pct_depth);
}

report explorer::run() {
  started_ = now();
  counts_ = {};
  late_ = false;
  const std::unique_ptr<strategy> order = chosen_strategy();
  for (std::uint64_t seed = how_.seed; !counts_.found && !time_is_up(); ++seed) {
    if (!build_scenario(seed)) break;
    for (std::uint64_t e = 0; e < how_.executions_per_scenario; ++e) {
      execute(e, *order);
      if (e == 0) scene_.horizon = static_cast<std::uint32_t>(machine_.decisions().size());
      if (counts_.found || time_is_up()) break;
    }
  }
  if (counts_.found && how_.minimise) minimise_schedule();
  return finish_report();
}

report explorer::replay(const coordinates& where) {
  started_ = now();
  counts_ = {};
  late_ = false;
  const std::unique_ptr<strategy> order = chosen_strategy();
  if (build_scenario(where.seed)) {
    if (where.execution > 0) {  // the first execution of a scenario measures its length
      execute(0, *order);
      scene_.horizon = static_cast<std::uint32_t>(machine_.decisions().size());
      if (!counts_.found) images_->clear();
    }
    if (!counts_.found) {
      const auto given = where.decisions ? replay_strategy(*where.decisions) : chosen_strategy();
      execute(where.execution, *given);
    }
  }
  return finish_report();
}

report explorer::finish_report() {
  counts_.structure = tested_.structure();
  counts_.policy = tested_.policy();
  counts_.model = to_text(how_.model);
  counts_.seconds = now() - started_;
  counts_.forced_write_backs = machine_.memory().forced_write_backs();
  counts_.sites = sites().passed().size();
  return counts_;
}

// --- counterexamples ---

void explorer::fail(const std::string& what) {
  if (counts_.found) return;
  failure& found = counts_.found.emplace();
  found.what = what;
  found.seed = scene_.seed;
  found.execution = execution_;
  found.decisions = machine_.decisions();
  describe_history();
  found.replay = replay_command(found);
}

void explorer::fail_if(const mishap& ended, const char* when) {
  if (ended) fail(std::string(when) + ' ' + *ended);
}

void explorer::describe_history() {
  std::size_t number = 0;
  for (const life& l : lives_) {
    const bool same_story = number > 0 && l.seen == lives_[number - 1].seen;
    if (number++ > 0) counts_.found->history.push_back("-- crash, recovery --");
    if (same_story) continue;
    counts_.found->history.push_back("begins with " + tested_.judge().describe(*l.initial));
    for (const event& e : l.seen->events()) describe_event(e);
  }
}

void explorer::describe_event(const event& e) {
  std::ostringstream line;
  line << "thread " << unsigned{e.thread} << ": " << tested_.judge().describe(e.what);
  if (e.pending()) {
    line << ", pending since " << e.invoked;
  } else {
    line << " -> " << (e.result.ok ? "yes" : "no");
    if (e.result.value != 0) line << ' ' << e.result.value;
    if (e.result.stamp != 0) line << " (number " << e.result.stamp << ')';
    line << "  [" << e.invoked << ", " << e.responded << ']';
  }
  counts_.found->history.push_back(line.str());
}

/// Called from the innermost crash outwards, each time with that crash's state restored.
void explorer::describe_crash(const crash_choice& choice) {
  const memory& media = machine_.memory();
  std::ostringstream out;
  out << "  stores at the crash (+ survived, - lost):\n";
  for (std::size_t d = 0; d < choice.size(); ++d) {
    const std::uint32_t line = media.dirty_lines()[d];
    const auto entries = media.pending(line);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const pending_store& e = entries[i];
      out << "    " << ((choice[d] >> i & 1) != 0 ? '+' : '-') << " offset 0x" << std::hex
          << line * memory::line_size + e.offset << " = 0x" << e.value[0] << std::dec << "  thread "
          << unsigned{e.thread} << "  " << machine_.sites().describe(e.site) << '\n';
    }
  }
  if (choice.empty()) out << "    none was at risk\n";
  auto& crashes = counts_.found->crashes;
  crashes.insert(crashes.begin(), out.str());
}

bool explorer::still_fails(const schedule& decisions) {
  const report before = counts_;
  counts_.found.reset();
  images_->clear();
  const std::unique_ptr<strategy> order = replay_strategy(decisions);
  execute(before.found->execution, *order);
  if (counts_.found) return true;
  counts_ = before;
  return false;
}

/// Takes away one change of threads after the other, as long as the execution still fails.
void explorer::minimise_schedule() {
  const double deadline = now() + 2;
  bool shorter = !counts_.found->decisions.empty();
  while (shorter && now() < deadline) {
    shorter = false;
    const schedule known = counts_.found->decisions;
    for (std::size_t i = 1; i < known.size() && !shorter && now() < deadline; ++i) {
      if (known[i] == known[i - 1]) continue;
      schedule candidate = known;
      for (std::size_t k = i; k < candidate.size() && known[k] == known[i]; ++k) {
        candidate[k] = known[i - 1];
      }
      shorter = still_fails(candidate) &&
                to_text(counts_.found->decisions).size() < to_text(known).size();
    }
  }
}

std::string explorer::replay_command(const failure& found) const {
  std::ostringstream out;
  out << "outlast verify --structure " << tested_.structure() << " --policy '" << tested_.policy()
      << "' --model " << to_text(how_.model) << " --seed " << found.seed << " --execution "
      << found.execution << " --schedule '" << to_text(found.decisions) << "'";
  return out.str();
}

std::vector<mutant> try_mutants(subject& tested, const options& how,
                                const std::vector<place>& places) {
  std::vector<mutant> results;
  options each = how;
  each.minimise = false;
  for (const place& at : places) {
    each.muted = at;
    const report done = explorer(tested, each).run();
    results.push_back({at, done.found.has_value(), done.executions, done.seconds,
                       done.found ? done.found->what : std::string()});
  }
  return results;
}

}  // namespace outlast::verify
