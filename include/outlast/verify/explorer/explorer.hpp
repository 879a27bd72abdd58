// The crash explorer: interleavings x crash points x cache evictions x crashes during recovery.
//
//   scenario    (from a seed) a few operations for each thread and a prefilled subject
//   execution   (from seed and number) one interleaving of them
//   crash point before every fence that guarantees something, every invocation and response, and at
//               the end; also inside recovery
//   image       one choice of surviving stores; known images with the same history are skipped
//
// For each image, the explorer opens the subject on it, reads it and checks it. Then a few more
// operations run and the power is cut again. Afterwards the explorer undoes all changes and
// continues the interrupted execution.
#pragma once

#include <outlast/verify/explorer/report.hpp>
#include <outlast/verify/explorer/subject.hpp>
#include <outlast/verify/machine/machine.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace outlast::verify {

enum class strategy_kind {
  random,      ///< each thread with equal probability at each point
  pct,         ///< probabilistic concurrency testing
  exhaustive,  ///< every interleaving up to a number of preemptions, of every small scenario
};

struct options {
  std::uint64_t seed = 1;            ///< of the first scenario; the next ones count up
  double seconds = 10;               ///< 0: no limit
  std::uint64_t max_executions = 0;  ///< 0: no limit
  std::uint64_t executions_per_scenario = 30;
  strategy_kind strategy = strategy_kind::pct;
  unsigned pct_depth = 3;
  unsigned preemptions = 2;        ///< of an exhaustive exploration
  bool only_one_scenario = false;  ///< explores only the scenario of the seed
  bool reduced = true;             ///< an exhaustive exploration omits equivalent interleavings
  /// If true, an exhaustive exploration continues once from each state of memory and threads, with
  /// any number of preemptions. Requires a bare subject: its threads share only the memory that it
  /// receives and the shadow copy of that memory, and access both only through the domain.
  bool by_states = false;
  scope within = {};  ///< scenarios are of this size or smaller
  memory_model model = {};
  unsigned eviction_cap = 64;      ///< up to this number, all images of a point are considered
  unsigned eviction_samples = 16;  ///< random images of a crash point with more images
  unsigned nested = 1;             ///< depth of crashes during and after recovery
  /// Each image is recovered and checked. One image in `nested_one_in` is also crashed during its
  /// recovery, and operations follow the recovery. 1: all images.
  unsigned nested_one_in = 24;
  unsigned operations_after = 3;  ///< after such a recovery
  /// At one crash point in `killed_one_in` only the process ends. Stores that are not durable
  /// remain visible to the next process, which a power cut then ends. 0: never. If the subject has
  /// memory that kills leave, the points after stores to it count, too.
  unsigned killed_one_in = 4;
  bool close_at_end = true;         ///< some executions end with a close, under crash points
  bool minimise = true;             ///< shortens a counterexample: fewer operations and switches
  bool crash_after_stores = false;  ///< adds a crash point after each store; slower
  /// In one execution in `parked_one_in` a thread stops for good in the middle of an operation, and
  /// the others must complete, as a non-blocking structure guarantees. 0: never.
  unsigned parked_one_in = 0;
  /// Maximum number of accesses of one operation, for structures that are wait-free. An operation
  /// with more accesses is a failure. 0: no bound.
  std::uint32_t operation_steps = 0;
  threading threads = threading::fibers;
  std::optional<mutation> mutated = {};  ///< a flush or fence that is defective
  /// The beginning of a failure's `replay`: a command that takes a replay_text() as its options and
  /// chooses the subject and the scope. If it is empty, a call of replay() is printed.
  std::string replay_command = {};
};

/// Identifies one execution. A replay needs all of it.
struct coordinates {
  std::uint64_t seed = 0;
  std::uint64_t execution = 0;
  std::optional<schedule> decisions;
  std::vector<operation_place> without = {};  ///< operations omitted from the scenario
};

/// Thread-safety: none. One explorer per operating-system thread at a time.
class explorer final : private crash_observer {
 public:
  /// Keeps a reference to `tested`.
  explorer(subject& tested, const options& how);
  ~explorer();

  /// Explores until the limits of the options, or the first counterexample.
  [[nodiscard]] report run();
  /// Runs one execution again. A failure identifies it by seed, execution, decisions and omitted
  /// operations, and the options must be those of the run that found the failure. Without
  /// decisions, they are drawn from seed and number again. The result is the same failure if the
  /// subject is the same. replay.hpp takes the text that a failure prints.
  [[nodiscard]] report replay(const coordinates& where);
  /// Returns the flushes, fences and stores that were passed.
  [[nodiscard]] const site_table& sites() noexcept { return machine_.sites(); }

 private:
  /// A run of the subject between two crashes.
  struct incarnation {
    const abstract_state* initial;
    const history* seen;
    const world* opened = nullptr;  // nullptr while it is being opened
    std::uint64_t last_version = 0;
    std::uint64_t last_history = 0;
  };
  /// The state in which an execution begins.
  enum class start { prefilled, formatted, nothing };
  struct scenario {
    std::uint64_t seed = 0;
    start begins = start::prefilled;
    std::vector<operation_place> without;
    std::vector<std::vector<call>> calls;
    abstract_state initial;
    std::uint32_t horizon = 64;
    bool closed = false;  // the prefilled subject was
  };
  /// A scenario of the exhaustive kind, by number.
  struct small_scenario {
    std::vector<call> beginning;
    std::vector<std::vector<call>> calls;
    bool closed = false;
  };
  class image_set;

  void crash_point() override;
  void stored_outside(const void* address) override;
  void try_all(const std::vector<std::vector<std::uint64_t>>& sets);
  void try_some(const std::vector<std::vector<std::uint64_t>>& sets);
  void consider(const crash_choice& choice);
  [[nodiscard]] bool offers_crashes() const;
  void consider_kill(const std::vector<std::vector<std::uint64_t>>& sets,
                     bool is_after_store_outside = false);
  template <class Enter>
  void crash(Enter&& enter, const incarnation& before, std::uint64_t key, bool crashes_again);
  void recover_on_image(const incarnation& before, std::uint64_t key, bool crashes_again);
  [[nodiscard]] bool nests(std::uint64_t key) const;
  void run_after_recovery(world& recovered, const abstract_state& state, std::uint64_t seed);
  void check_state(world& opened, const incarnation& ended, abstract_state& state, const char* when,
                   bool directly_after_opening);

  bool build_scenario(std::uint64_t seed, const std::vector<operation_place>& without = {});
  void choose_start(random& source);
  void prepare(const std::vector<call>& beginning);
  void draw_scenario(random& source, std::vector<call>& beginning);
  [[nodiscard]] std::uint64_t small_scenarios() const;
  [[nodiscard]] small_scenario small_scenario_of(std::uint64_t number) const;
  void prefill(const std::vector<call>& beginning);
  void explore_at_random();
  void explore_everything();
  bool explore_all_interleavings(exhaustive_strategy& order);
  void execute(std::uint64_t number, strategy& order);
  void open_for_execution();
  [[nodiscard]] std::unique_ptr<world> open();
  void run_thread(unsigned thread);
  void park_a_thread(random& source);
  void finish_execution(std::uint64_t number);
  void check_seam(bool everywhere);
  [[nodiscard]] bool time_is_up() const;
  [[nodiscard]] std::unique_ptr<strategy> chosen_strategy() const;

  void fail(const std::string& what);
  void fail_if(const fault& ended, const char* when);
  void describe_crash(const crash_choice& choice);
  void describe_kill();
  void describe_history();
  void describe_event(const event& e);
  void minimise();
  void minimise_schedule(double deadline);
  bool minimise_operations(double deadline);
  bool still_fails(strategy& order, std::uint64_t number);
  bool fails_without(const operation_place& at);
  [[nodiscard]] std::string replay_of(const failure& found) const;
  report finish_report();

  subject& tested_;
  options how_;
  machine machine_;
  scenario scene_;
  history history_;
  std::vector<incarnation> incarnations_;
  std::unique_ptr<world> world_;
  bool wrecked_ = false;  // a thread of the execution has stopped in the middle of an operation
  const exhaustive_strategy* everything_ = nullptr;  // while an exhaustive exploration runs
  std::unique_ptr<image_set> images_;
  report counts_;
  bool armed_ = false;
  std::uint64_t stores_outside_ = 0;  // of this execution, to what kills leave
  std::uint64_t execution_ = 0;
  double started_ = 0;
  bool late_ = false;  // the time is up: the execution ends without further crashes
};

/// A flush or fence that was made defective, and whether the explorer noticed.
struct mutant {
  mutation made;
  bool killed = false;
  std::uint64_t executions = 0;  ///< until it was noticed, or in total
  double seconds = 0;
  std::string why;  ///< the first counterexample, as a sentence
};

/// Makes each of `places` defective in turn, in both ways. A surviving mutant is redundant or shows
/// a gap of the verifier. Survival proves nothing.
[[nodiscard]] std::vector<mutant> try_mutants(subject& tested, const options& how,
                                              const std::vector<place>& places);

}  // namespace outlast::verify
