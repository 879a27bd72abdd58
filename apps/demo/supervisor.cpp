// The demo's parent process: starts children, kills them and checks the surviving map.
#include <apps/demo/supervisor.hpp>

#include <algorithm>
#include <thread>

namespace outlast::apps::demo {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// The average time of a kill, from the start of one child to the start of the next. Five policies
/// with a hundred kills each, and their measurements, take about forty seconds.
constexpr auto time_per_kill = 30ms;
constexpr auto shortest_run = 4ms;
constexpr auto longest_silence = 60s;
/// One kill in this many hits a child that is still opening and recovering.
constexpr std::uint64_t early_kills = 8;
/// The distance before its acknowledgement at which a thread restarts, so that it replays some
/// words.
constexpr std::uint64_t replay_bytes = 16'384;

constexpr std::uint64_t mebibyte = 1024 * 1024;

std::uint64_t pool_bytes_for(std::size_t words) {
  constexpr std::uint64_t bytes_per_word = 320;
  const std::uint64_t bytes = 64 * mebibyte + words * bytes_per_word;
  return (bytes + mebibyte - 1) / mebibyte * mebibyte;
}

void require_space(const fs::path& folder, std::uint64_t bytes) {
  const std::uint64_t available = fs::space(folder).available;
  if (available >= bytes) return;
  throw std::runtime_error(folder.string() + ": " + std::to_string(available / mebibyte) +
                           " MiB are free, pools of " + std::to_string(bytes / mebibyte) +
                           " MiB would not fit; name another folder with --pool-dir");
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

supervisor::supervisor(settings how, std::string_view text, progress& shown)
    : how_(std::move(how)),
      text_(text),
      shown_(shown),
      reference_(text, how_.threads),
      shared_(text, reference_.distinct_words() + 1) {
  exchange_header& header = shared_.header();
  header.threads = how_.threads;
  header.replay_bytes = replay_bytes;
  header.pool_bytes = pool_bytes_for(reference_.distinct_words());
  require_space(how_.folder, 3 * header.pool_bytes);
}

outcome supervisor::run(std::uint32_t subject_index) {
  prepare(subject_index);
  outcome result;
  result.who = all_subjects()[subject_index];
  while (result.kills < how_.kills && result.checked.clean()) kill_one(result);
  if (result.checked.clean()) finish(result);
  result.acknowledged = reference_.acknowledged();
  result.recovery_ms = median(recoveries_ms_);
  if (how_.measure && result.checked.clean()) measure(result);
  return result;
}

void supervisor::prepare(std::uint32_t subject_index) {
  exchange_header& header = shared_.header();
  header.subject = subject_index;
  header.fault = how_.fault;
  const fs::path folder = how_.folder / std::string(all_subjects()[subject_index].choice);
  fs::create_directory(folder);
  if (folder.string().size() >= sizeof(header.folder)) {
    throw std::runtime_error(folder.string() + ": the path is too long");
  }
  put_text(header.folder, folder.string());
  for (acknowledgement& thread : header.acknowledged) thread.position.store(0);
  header.stop_after = occurrences::position_mask / text_.size() * text_.size();
  reference_.reset();
  recoveries_ms_.clear();
}

void supervisor::kill_one(outcome& result) {
  if (random_() % early_kills == 0) {
    kill_while_it_recovers(result);
  } else {
    kill_while_it_ingests(result);
  }
  ++result.kills;
  take_acknowledgements();
  shown_.step(std::to_string(result.kills) + " kills, " +
              std::to_string(reference_.acknowledged()) + " words acknowledged");
}

/// The child must not ingest, because a replay would repair losses before they are detected.
void supervisor::kill_while_it_recovers(outcome& result) {
  start_task(task::ingest, false);
  child_process child(child_arguments());
  pause_until(child, clock::now() + random_time(startup_));
  child.kill();
  if (shared_.header().reached.load() == stage::shown) check(result);
}

void supervisor::kill_while_it_ingests(outcome& result) {
  const clock::time_point start = clock::now();
  start_task(task::ingest);
  child_process child(child_arguments());
  wait_for(child, stage::shown);
  const clock::time_point shown = clock::now();
  startup_ = (3 * startup_ + (shown - start)) / 4;
  const auto pause = std::max<std::chrono::nanoseconds>(shortest_run, time_per_kill - startup_);
  const clock::time_point end = shown + random_time(2 * pause);
  // The child continues while its surviving map is compared with the words acknowledged before its
  // start.
  check(result);
  if (result.kills > 0) {
    recoveries_ms_.push_back(static_cast<double>(shared_.header().recovery_ns) / 1e6);
  }
  pause_until(child, end);
  child.kill();
}

void supervisor::finish(outcome& result) {
  exchange_header& header = shared_.header();
  // A word that was not acknowledged may be in the map, so the stream extends to it.
  const std::uint64_t furthest = std::max<std::uint64_t>(1, reference_.furthest_in_flight());
  const std::uint64_t passes = (furthest + text_.size() - 1) / text_.size();
  header.stop_after = passes * text_.size();
  start_task(task::ingest);
  let_finish();
  check(result);
  take_acknowledgements();
  // A new process, which only copies the whole map.
  start_task(task::ingest);
  let_finish();
  result.checked.add(compare_with_exact_count(text_, passes, survivors()));
}

void supervisor::measure(outcome& result) {
  start_task(task::measure);
  let_finish();
  result.measured = shared_.header().measured;
  shown_.step("measured");
}

void supervisor::check(outcome& result) { result.checked.add(reference_.check(survivors())); }

void supervisor::start_task(task what, bool go) {
  exchange_header& header = shared_.header();
  header.what = what;
  header.go = go;
  header.survivors_found = 0;
  header.reached.store(stage::starting);
}

void supervisor::let_finish() {
  child_process child(child_arguments());
  wait_for(child, stage::finished);
  const child_end end = child.wait();
  if (end.signal != 0 || end.exit_status != 0) {
    throw child_failure("a child process failed after it had finished its work");
  }
}

void supervisor::wait_for(child_process& child, stage wanted) {
  const clock::time_point latest = clock::now() + longest_silence;
  while (shared_.header().reached.load(std::memory_order_acquire) < wanted) {
    check_on(child);
    if (clock::now() > latest) {
      throw child_failure("a child process made no progress for a minute");
    }
    std::this_thread::sleep_for(100us);
  }
  check_on(child);
}

void supervisor::pause_until(child_process& child, clock::time_point end) {
  for (clock::time_point now = clock::now(); now < end; now = clock::now()) {
    check_on(child);
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(end - now, 5ms));
  }
}

/// Throws unless the parent killed the child or the child completed its task.
void supervisor::check_on(child_process& child) {
  if (how_.interrupted()) throw interruption();
  const exchange_header& header = shared_.header();
  const std::optional<child_end> end = child.poll();
  const stage reached = header.reached.load(std::memory_order_acquire);
  if (reached == stage::failed) throw child_failure(header.message);
  if (!end || reached == stage::finished) return;
  throw child_failure(
      end->signal != 0
          ? "a child process died of signal " + std::to_string(end->signal) + " by itself"
          : "a child process ended by itself with status " + std::to_string(end->exit_status));
}

void supervisor::take_acknowledgements() {
  for (std::uint32_t thread = 0; thread < how_.threads; ++thread) {
    reference_.advance(thread, shared_.header().acknowledged[thread].position.load());
  }
}

std::span<const survivor> supervisor::survivors() const {
  return shared_.survivors().first(shared_.header().survivors_found);
}

std::vector<std::string> supervisor::child_arguments() const {
  return {std::string(child_command), std::to_string(shared_.descriptor())};
}

std::chrono::nanoseconds supervisor::random_time(std::chrono::nanoseconds below) {
  return std::chrono::nanoseconds(random_() % static_cast<std::uint64_t>(below.count() + 1));
}

}  // namespace outlast::apps::demo
