// The counterexamples of the explorer: their description, their reduction and their replay texts.
#include <outlast/verify/explorer/explorer.hpp>
#include <outlast/verify/explorer/replay.hpp>
#include <src/verify/explorer/clock.hpp>
#include <src/verify/explorer/image_set.hpp>

#include <algorithm>
#include <cstring>
#include <sstream>

namespace outlast::verify {

void explorer::fail(const std::string& what) {
  if (counts_.found) return;
  failure& found = counts_.found.emplace();
  found.what = what;
  found.seed = scene_.seed;
  found.execution = execution_;
  found.decisions = machine_.decisions();
  found.without = scene_.without;
  describe_history();
  found.replay = replay_of(found);
}

void explorer::fail_if(const fault& ended, const char* when) {
  if (ended) fail(std::string(when) + ' ' + *ended);
}

void explorer::describe_history() {
  std::size_t number = 0;
  for (const incarnation& l : incarnations_) {
    const bool same_history = number > 0 && l.seen == incarnations_[number - 1].seen;
    if (number++ > 0) counts_.found->history.push_back("-- crash, recovery --");
    if (same_history) continue;
    counts_.found->history.push_back("begins with " + tested_.checker().describe(*l.initial));
    for (const event& e : l.seen->events()) describe_event(e);
  }
}

void explorer::describe_event(const event& e) {
  std::ostringstream line;
  line << "thread " << unsigned{e.thread} << ": " << tested_.checker().describe(e.what);
  if (e.pending()) {
    line << ", pending since " << e.invoked;
  } else {
    line << " -> " << tested_.checker().describe_result(e.what, e.result);
    if (e.result.stamp != 0) line << " (number " << e.result.stamp << ')';
    if (e.result.durable != 0) line << " (durable up to " << e.result.durable << ')';
    if (e.result.token != 0) line << " (durable from " << e.result.token << " on)";
    if (e.result.reached != 0) line << " (reached " << e.result.reached << ')';
    line << "  [" << e.invoked << ", " << e.responded << ']';
  }
  counts_.found->history.push_back(line.str());
}

namespace {

void describe_store(std::ostream& out, char fate, std::uint64_t offset, std::uint64_t value,
                    const std::string& thread, const std::string& site) {
  out << "    " << fate << " offset 0x" << std::hex << offset << " = 0x" << value << std::dec
      << "  " << thread << "  " << site;
}

/// Describes the stores in the store buffers, which are lost. Returns false if there is none.
bool describe_buffers(std::ostream& out, machine& in) {
  const memory& media = in.memory();
  bool any = false;
  for (unsigned t = 0; t < media.buffers().threads(); ++t) {
    for (const buffered& e : media.buffers().of(t)) {
      if (e.what != buffered::instruction::store || e.outside) continue;
      std::uint64_t value = 0;
      std::memcpy(&value, e.value.data(), std::min<std::size_t>(e.size, sizeof value));
      const auto offset = static_cast<std::uint64_t>(e.address - media.bytes().data());
      describe_store(out, '-', offset, value, in.name_of_thread(t), in.sites().describe(e.site));
      out << ", in its store buffer\n";
      any = true;
    }
  }
  return any;
}

}  // namespace

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
      describe_store(out, (choice[d] >> i & 1) != 0 ? '+' : '-',
                     line * memory::line_size + e.offset, e.value[0],
                     machine_.name_of_thread(e.thread), machine_.sites().describe(e.site));
      out << '\n';
    }
  }
  if (!describe_buffers(out, machine_) && choice.empty()) {
    out << "    no store was at risk\n";
  }
  auto& crashes = counts_.found->crashes;
  crashes.insert(crashes.begin(), out.str());
}

void explorer::describe_kill() {
  auto& crashes = counts_.found->crashes;
  crashes.insert(crashes.begin(), "  the process was killed; all its stores stayed visible\n");
}

/// Runs the scenario again in `order`. If that fails too, the new failure takes the place of the
/// old.
bool explorer::still_fails(strategy& order, std::uint64_t number) {
  const report before = counts_;
  counts_.found.reset();
  images_->clear();
  late_ = false;
  execute(number, order);
  if (counts_.found) return true;
  counts_ = before;
  return false;
}

void explorer::minimise() {
  const double deadline = now() + 4;
  minimise_schedule(deadline);
  while (minimise_operations(deadline)) {
  }
  minimise_schedule(deadline);
}

/// Removes one switch of threads after the other while the execution still fails.
void explorer::minimise_schedule(double deadline) {
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
      const std::unique_ptr<strategy> order = replay_strategy(candidate);
      shorter = still_fails(*order, counts_.found->execution) &&
                to_text(counts_.found->decisions).size() < to_text(known).size();
    }
  }
}

/// Removes one operation without which the scenario still fails. Returns false if there is none.
bool explorer::minimise_operations(double deadline) {
  for (unsigned thread = 0; thread < scene_.calls.size(); ++thread) {
    for (std::size_t i = scene_.calls[thread].size(); i-- > 0;) {
      if (now() > deadline) return false;
      if (fails_without({static_cast<std::uint8_t>(thread), static_cast<std::uint8_t>(i)})) {
        return true;
      }
    }
  }
  return false;
}

/// `at` counts the operations that are left. With the schedule as it was, or with another one.
bool explorer::fails_without(const operation_place& at) {
  const report before = counts_;
  const scenario scene = scene_;
  std::vector<operation_place> without = scene.without;
  without.push_back(at);
  counts_.found.reset();
  if (build_scenario(scene.seed, without)) {
    const std::unique_ptr<strategy> first = chosen_strategy();
    execute(0, *first);  // as replay() does: it measures the length
    scene_.horizon = static_cast<std::uint32_t>(machine_.decisions().size());
    counts_ = before;
    const std::unique_ptr<strategy> same = replay_strategy(before.found->decisions);
    if (still_fails(*same, before.found->execution)) return true;
    const std::unique_ptr<strategy> other = pct_strategy(how_.pct_depth);
    for (std::uint64_t e = 0; e < 100; ++e) {
      if (still_fails(*other, before.found->execution + 4 * e)) return true;
    }
  }
  counts_ = before;
  static_cast<void>(build_scenario(scene.seed, scene.without));
  counts_ = before;
  scene_.horizon = scene.horizon;
  return false;
}

std::string explorer::replay_of(const failure& found) const {
  const std::string text =
      replay_text(how_, {found.seed, found.execution, found.decisions, found.without});
  if (!how_.replay_command.empty()) return how_.replay_command + ' ' + text;
  return "outlast::verify::replay(tested, \"" + text + "\")";
}

}  // namespace outlast::verify
