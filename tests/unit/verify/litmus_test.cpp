// Goal: the simulated machine permits exactly the outcomes of the real machines. Method: a table of
// small programs of one or two threads. For each program and machine, some hundred interleavings
// yield the possible crash images, or the values that the threads have read. This set must be
// exactly the set that theory permits.
#include <outlast/domain/persist.hpp>
#include <outlast/verify/machine/simulated.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace outlast::test {
namespace {

using D = domain::simulated;
using verify::memory_model;
using word = std::atomic<std::uint64_t>;
constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto acq_rel = std::memory_order_acq_rel;
constexpr auto seq_cst = std::memory_order_seq_cst;

/// x and x2 share a line; y, z and flag have one each.
struct cells {
  alignas(64) word x;
  word x2;
  alignas(64) word y;
  alignas(64) word z;
  alignas(64) word flag;
};

struct alignas(16) pair {
  std::uint64_t a, b;
};

/// What the threads have read. Forgotten before each execution.
using registers = std::array<std::uint64_t, 4>;
using thread = void (*)(cells&, registers&);
using outcomes = std::set<std::string>;
using view = std::string (*)(const cells&, const registers&);

enum class moment { at_any_crash, at_the_end };

/// Machines, by the names of their models separated by blanks, and what they allow.
struct verdict {
  const char* models;
  outcomes allowed;
};

struct litmus {
  const char* name;
  std::vector<thread> threads;
  view see;
  moment when;
  std::vector<verdict> verdicts;
};

// --- the words of the programs ---

void set(word& at, std::uint64_t value = 1, std::memory_order order = release) {
  D::store(at, value, order);
}
std::uint64_t get(const word& at) { return D::load(at, acquire); }
void wait_for(const word& at) {
  while (get(at) == 0) D::relax();
}
void persist(const word& at) { D::pwb(&at), D::pfence(); }
void stream(word& at) {
  const std::uint64_t one = 1;
  D::stream(&at, &one, sizeof(one));
}
/// A locked instruction that has nothing to do with the words looked at.
void lock(cells& c) { (void)D::fetch_add(c.flag, 1, relaxed); }
std::atomic<pair>& both(cells& c) { return reinterpret_cast<std::atomic<pair>&>(c.x); }

std::string digits(std::initializer_list<std::uint64_t> values) {
  std::string text;
  for (const std::uint64_t each : values) text += std::to_string(each);
  return text;
}
std::string x_y(const cells& c, const registers&) { return digits({c.x.load(), c.y.load()}); }
std::string x_x2(const cells& c, const registers&) { return digits({c.x.load(), c.x2.load()}); }
std::string x_r(const cells& c, const registers& r) { return digits({c.x.load(), r[0]}); }
std::string y_r(const cells& c, const registers& r) { return digits({c.y.load(), r[0]}); }
std::string rr(const cells&, const registers& r) { return digits({r[0], r[1]}); }
std::string rrrr(const cells&, const registers& r) { return digits({r[0], r[1], r[2], r[3]}); }
/// z survived and x did not, although thread 1 read, after storing x, that y was not stored yet.
/// (r[0] is what it read plus one.)
std::string x_lost(const cells& c, const registers& r) {
  return c.z.load() == 1 && r[0] == 1 && c.x.load() == 0 ? "lost" : "fine";
}

// --- the machines ---

constexpr const char* all =
    "portable x86 portable+store_buffers x86+store_buffers portable+weak_same_line "
    "portable+store_buffers+weak_same_line x86+store_buffers+weak_same_line cache_persistent";
constexpr const char* flushing =
    "portable x86 portable+store_buffers x86+store_buffers portable+weak_same_line "
    "portable+store_buffers+weak_same_line";
constexpr const char* in_line_order =
    "portable x86 portable+store_buffers x86+store_buffers cache_persistent";
constexpr const char* weak = "portable+weak_same_line portable+store_buffers+weak_same_line";
constexpr const char* unbuffered = "portable x86 portable+weak_same_line";
constexpr const char* buffered =
    "portable+store_buffers x86+store_buffers portable+store_buffers+weak_same_line "
    "cache_persistent";
constexpr const char* flushing_buffered = "portable+store_buffers x86+store_buffers";
constexpr const char* locked_fences = "x86 x86+store_buffers";
constexpr const char* only_fences_fence = "portable portable+store_buffers";
constexpr const char* persistent_caches = "cache_persistent";

const outcomes anything{"00", "01", "10", "11"};
const outcomes first_before_second{"00", "10", "11"};

using enum moment;

/// What a crash leaves of one thread's work.
const std::vector<litmus> alone{
    {"a_store_may_be_lost_or_survive",
     {[](cells& c, registers&) { set(c.x); }},
     x_y,
     at_any_crash,
     {{all, {"00", "10"}}}},
    {"lines_persist_in_any_order",
     {[](cells& c, registers&) { set(c.x), set(c.y); }},
     x_y,
     at_any_crash,
     {{flushing, anything}, {persistent_caches, first_before_second}}},
    {"one_line_persists_in_order",
     {[](cells& c, registers&) { set(c.x), set(c.x2); }},
     x_x2,
     at_any_crash,
     {{all, first_before_second}}},
    {"relaxed_stores_to_one_line_persist_in_any_order_on_weak_machines",
     {[](cells& c, registers&) { set(c.x, 1, relaxed), set(c.x2, 1, relaxed); }},
     x_x2,
     at_any_crash,
     {{weak, anything}, {in_line_order, first_before_second}}},
    {"a_release_stays_behind_earlier_stores_to_its_line",
     {[](cells& c, registers&) { set(c.x, 1, relaxed), set(c.x2, 1, release); }},
     x_x2,
     at_any_crash,
     {{all, first_before_second}}},
    {"a_relaxed_store_may_overtake_a_release_on_weak_machines",
     {[](cells& c, registers&) { set(c.x, 1, release), set(c.x2, 1, relaxed); }},
     x_x2,
     at_any_crash,
     {{weak, anything}, {in_line_order, first_before_second}}},
    {"stores_to_one_word_persist_in_order_everywhere",
     {[](cells& c, registers&) { set(c.x, 1, relaxed), set(c.x, 2, relaxed); }},
     x_y,
     at_any_crash,
     {{all, {"00", "10", "20"}}}},
    {"a_flush_without_a_fence_orders_nothing",
     {[](cells& c, registers&) { set(c.x), D::pwb(&c.x), set(c.y); }},
     x_y,
     at_any_crash,
     {{flushing, anything}}},
    {"a_fence_without_a_flush_orders_nothing",
     {[](cells& c, registers&) { set(c.x), D::pfence(), set(c.y); }},
     x_y,
     at_any_crash,
     {{flushing, anything}, {persistent_caches, first_before_second}}},
    {"flush_and_fence_order_lines",
     {[](cells& c, registers&) { set(c.x), persist(c.x), set(c.y); }},
     x_y,
     at_any_crash,
     {{all, first_before_second}}},
    {"psync_fences_too",
     {[](cells& c, registers&) { set(c.x), D::pwb(&c.x), D::psync(), set(c.y); }},
     x_y,
     at_any_crash,
     {{all, first_before_second}}},
    {"a_conditional_fence_completes_a_pending_flush",
     {[](cells& c, registers&) { set(c.x), domain::persist<D>(&c.x, 8), set(c.y); }},
     x_y,
     at_any_crash,
     {{all, first_before_second}}},
    {"a_flush_before_the_store_guarantees_nothing",
     {[](cells& c, registers&) { D::pwb(&c.x), set(c.x), D::pfence(), set(c.y); }},
     x_y,
     at_any_crash,
     {{flushing, anything}}},
    {"a_flush_after_the_fence_guarantees_nothing",
     {[](cells& c, registers&) { set(c.x), D::pfence(), D::pwb(&c.x), set(c.y); }},
     x_y,
     at_any_crash,
     {{flushing, anything}}},
    {"a_flush_covers_what_was_stored_before_it",
     {[](cells& c, registers&) { set(c.x), D::pwb(&c.x), set(c.x, 2), D::pfence(), set(c.y); }},
     x_y,
     at_any_crash,
     {{flushing, {"00", "10", "20", "11", "21"}}}},
    {"a_flush_covers_the_whole_line",
     {[](cells& c, registers&) { set(c.x), persist(c.x2), set(c.y); }},
     x_y,
     at_any_crash,
     {{flushing, first_before_second}}},
    {"a_flush_of_another_line_guarantees_nothing",
     {[](cells& c, registers&) { set(c.x), persist(c.z), set(c.y); }},
     x_y,
     at_any_crash,
     {{flushing, anything}}},
    {"two_flushes_share_one_fence",
     {[](cells& c, registers&) {
       set(c.x), D::pwb(&c.x), set(c.z), D::pwb(&c.z), D::pfence(), set(c.y);
     }},
     x_y,
     at_any_crash,
     {{flushing, first_before_second}}},
    {"zeroing_is_a_store",
     {[](cells& c, registers&) { set(c.x), persist(c.x), set(c.y), D::zero(&c.x, 8); }},
     x_y,
     at_any_crash,
     {{flushing, {"00", "10", "11", "01"}}}},
    {"copies_tear_between_words_only",
     {[](cells& c, registers&) {
       const std::uint64_t ones[2] = {1, 1};
       D::write(&c.x, ones, sizeof(ones));
     }},
     x_x2,
     at_any_crash,
     {{in_line_order, first_before_second}, {weak, anything}}},
    {"parts_of_a_word_do_not_disturb_their_neighbours",
     {[](cells& c, registers&) {
       const std::uint8_t one = 1;
       auto* const bytes = reinterpret_cast<std::byte*>(&c.x);
       D::write(bytes, &one, 1), D::write(bytes + 1, &one, 1);
     }},
     x_y,
     at_any_crash,
     {{in_line_order, {"00", "10", "2570"}}}},
    {"a_double_word_is_never_torn",
     {[](cells& c, registers&) {
       pair none{0, 0};
       EXPECT_TRUE(D::compare_exchange(both(c), none, pair{1, 1}, acq_rel));
     }},
     x_x2,
     at_any_crash,
     {{all, {"00", "11"}}}},
    {"a_stored_double_word_is_never_torn",
     {[](cells& c, registers&) { D::store(both(c), pair{1, 1}, release); }},
     x_x2,
     at_any_crash,
     {{all, {"00", "11"}}}},
};

/// Locked instructions and stores past the caches.
const std::vector<litmus> special{
    {"locked_instructions_fence_on_x86_alone",
     {[](cells& c, registers&) { set(c.x), D::pwb(&c.x), lock(c), set(c.y); }},
     x_y,
     at_any_crash,
     {{locked_fences, first_before_second}, {only_fences_fence, anything}}},
    {"a_failed_compare_and_swap_fences_on_x86_too",
     {[](cells& c, registers&) {
       std::uint64_t wrong = 9;
       set(c.x), D::pwb(&c.x), (void)D::compare_exchange(c.z, wrong, 1, relaxed), set(c.y);
       EXPECT_EQ(wrong, 0U);
     }},
     x_y,
     at_any_crash,
     {{locked_fences, first_before_second}, {only_fences_fence, anything}}},
    {"a_failed_compare_and_swap_stores_nothing",
     {[](cells& c, registers&) {
       std::uint64_t wrong = 9;
       EXPECT_FALSE(D::compare_exchange(c.x, wrong, 1, acquire));
     }},
     x_y,
     at_any_crash,
     {{all, {"00"}}}},
    {"a_locked_store_needs_a_flush_as_well",
     {[](cells& c, registers&) { (void)D::exchange(c.x, 1, acq_rel), D::pfence(), set(c.y); }},
     x_y,
     at_any_crash,
     {{flushing, anything}}},
    {"streamed_bytes_persist_in_any_order",
     {[](cells& c, registers&) { stream(c.x), set(c.y); }},
     x_y,
     at_any_crash,
     {{all, anything}}},
    {"streamed_bytes_wait_for_a_fence",
     {[](cells& c, registers&) { stream(c.x), D::pfence(), set(c.y); }},
     x_y,
     at_any_crash,
     {{all, first_before_second}}},
    {"a_locked_instruction_fences_streamed_bytes_on_x86_alone",
     {[](cells& c, registers&) { stream(c.x), lock(c), set(c.y); }},
     x_y,
     at_any_crash,
     {{locked_fences, first_before_second}, {only_fences_fence, anything}}},
    {"streamed_bytes_are_unordered_within_a_line",
     {[](cells& c, registers&) { stream(c.x), stream(c.x2); }},
     x_x2,
     at_any_crash,
     {{all, anything}}},
    {"a_flush_does_not_complete_streamed_bytes_of_another_thread",
     {[](cells& c, registers&) { stream(c.x), set(c.flag); },
      [](cells& c, registers&) { wait_for(c.flag), persist(c.x), set(c.y); }},
     x_y,
     at_any_crash,
     {{flushing, anything}}},
    {"streamed_bytes_that_were_fenced_may_be_published",
     {[](cells& c, registers&) { stream(c.x), D::pfence(), set(c.flag); },
      [](cells& c, registers&) { wait_for(c.flag), set(c.y); }},
     x_y,
     at_any_crash,
     {{all, first_before_second}}},
};

/// What a crash leaves of two threads' work.
const std::vector<litmus> together{
    {"a_persisted_message_precedes_its_answer",
     {[](cells& c, registers&) { set(c.x), persist(c.x), set(c.flag); },
      [](cells& c, registers&) { wait_for(c.flag), set(c.y); }},
     x_y,
     at_any_crash,
     {{all, first_before_second}}},
    {"an_unpersisted_message_may_be_lost_behind_its_answer",
     {[](cells& c, registers&) { set(c.x), set(c.flag); },
      [](cells& c, registers&) { wait_for(c.flag), set(c.y); }},
     x_y,
     at_any_crash,
     {{flushing, anything}, {persistent_caches, first_before_second}}},
    {"the_reader_may_persist_what_it_read",
     {[](cells& c, registers&) { set(c.x); },
      [](cells& c, registers&) { wait_for(c.x), persist(c.x), set(c.y); }},
     x_y,
     at_any_crash,
     {{all, first_before_second}}},
    {"a_fence_completes_only_flushes_of_its_own_thread",
     {[](cells& c, registers&) { set(c.x), D::pwb(&c.x), set(c.flag); },
      [](cells& c, registers&) { wait_for(c.flag), D::pfence(), set(c.y); }},
     x_y,
     at_any_crash,
     {{flushing, anything}}},
    {"a_flush_of_another_thread_may_be_waited_for_by_a_flag",
     {[](cells& c, registers&) { set(c.x), wait_for(c.flag), set(c.y); },
      [](cells& c, registers&) { wait_for(c.x), persist(c.x), set(c.flag); }},
     x_y,
     at_any_crash,
     {{all, first_before_second}}},
    {"two_writers_of_a_line_share_its_order",
     {[](cells& c, registers&) { set(c.x), set(c.flag); },
      [](cells& c, registers&) { wait_for(c.flag), set(c.x2); }},
     x_x2,
     at_any_crash,
     {{all, first_before_second}}},
    // With a buffer, thread 0 may flush x before y is visible; the flush of a store's own line
    // and one behind a fence may not.
    {"a_flush_may_overtake_a_store_to_another_line",
     {[](cells& c, registers&) { set(c.y), D::pwb(&c.x), D::pfence(), set(c.z); },
      [](cells& c, registers& r) { set(c.x), lock(c), r[0] = get(c.y) + 1; }},
     x_lost,
     at_any_crash,
     {{unbuffered, {"fine"}}, {flushing_buffered, {"fine", "lost"}}}},
    {"a_flush_does_not_overtake_a_store_to_its_own_line",
     {[](cells& c, registers&) { set(c.x2), D::pwb(&c.x), D::pfence(), set(c.z); },
      [](cells& c, registers& r) { set(c.x), lock(c), r[0] = get(c.x2) + 1; }},
     x_lost,
     at_any_crash,
     {{flushing, {"fine"}}}},
    {"a_flush_does_not_overtake_a_fence",
     {[](cells& c, registers&) { set(c.y), D::pfence(), D::pwb(&c.x), D::pfence(), set(c.z); },
      [](cells& c, registers& r) { set(c.x), lock(c), r[0] = get(c.y) + 1; }},
     x_lost,
     at_any_crash,
     {{flushing, {"fine"}}}},
};

/// The earliest moment of a response: r[0] is the result.
const std::vector<litmus> results{
    {"an_answer_outruns_a_store_that_nobody_waits_for",
     {[](cells& c, registers& r) { set(c.x), D::schedule_point(), r[0] = 1; }},
     x_r,
     at_any_crash,
     {{all, anything}}},
    {"an_answer_behind_a_pfence_outruns_a_buffered_store",
     {[](cells& c, registers& r) { set(c.x), persist(c.x), D::schedule_point(), r[0] = 1; }},
     x_r,
     at_any_crash,
     {{unbuffered, first_before_second}, {buffered, anything}}},
    {"an_answer_behind_a_psync_does_not",
     {[](cells& c, registers& r) { set(c.x), D::pwb(&c.x), D::psync(), r[0] = 1; }},
     x_r,
     at_any_crash,
     {{all, first_before_second}}},
    {"an_answer_behind_a_locked_store_is_safe_where_caches_persist",
     {[](cells& c, registers& r) { (void)D::exchange(c.x, 1, acq_rel), r[0] = 1; }},
     x_r,
     at_any_crash,
     {{persistent_caches, first_before_second}, {flushing, anything}}},
    {"an_answer_to_what_another_stored_is_safe_where_caches_persist",
     {[](cells& c, registers&) { set(c.x); },
      [](cells& c, registers& r) { wait_for(c.x), r[0] = 1; }},
     x_r,
     at_any_crash,
     {{persistent_caches, first_before_second}, {flushing, anything}}},
    {"an_operation_that_completes_is_durable",
     {[](cells& c, registers& r) {
       set(c.x), domain::note_store<D>(), domain::complete<D>(), r[0] = 1;
     }},
     x_r,
     at_any_crash,
     {{persistent_caches, first_before_second}}},
};

const outcomes at_least_one{"01", "10", "11"};

/// What threads see of one another: the classics.
const std::vector<litmus> visibility{
    {"store_buffering",
     {[](cells& c, registers& r) { set(c.x), r[0] = get(c.y); },
      [](cells& c, registers& r) { set(c.y), r[1] = get(c.x); }},
     rr,
     at_the_end,
     {{unbuffered, at_least_one}, {buffered, anything}}},
    {"store_buffering_ignores_a_pfence",
     {[](cells& c, registers& r) { set(c.x), D::pfence(), r[0] = get(c.y); },
      [](cells& c, registers& r) { set(c.y), D::pfence(), r[1] = get(c.x); }},
     rr,
     at_the_end,
     {{unbuffered, at_least_one}, {buffered, anything}}},
    {"store_buffering_needs_both_sides_to_wait",
     {[](cells& c, registers& r) { set(c.x), D::psync(), r[0] = get(c.y); },
      [](cells& c, registers& r) { set(c.y), r[1] = get(c.x); }},
     rr,
     at_the_end,
     {{unbuffered, at_least_one}, {buffered, anything}}},
    {"store_buffering_ends_at_a_psync",
     {[](cells& c, registers& r) { set(c.x), D::psync(), r[0] = get(c.y); },
      [](cells& c, registers& r) { set(c.y), D::psync(), r[1] = get(c.x); }},
     rr,
     at_the_end,
     {{all, at_least_one}}},
    {"store_buffering_ends_at_a_locked_instruction",
     {[](cells& c, registers& r) { set(c.x), lock(c), r[0] = get(c.y); },
      [](cells& c, registers& r) { set(c.y), lock(c), r[1] = get(c.x); }},
     rr,
     at_the_end,
     {{all, at_least_one}}},
    {"store_buffering_ends_at_a_failed_compare_and_swap",
     {[](cells& c, registers& r) {
        std::uint64_t wrong = 9;
        set(c.x), (void)D::compare_exchange(c.z, wrong, 1, relaxed), r[0] = get(c.y);
      },
      [](cells& c, registers& r) { set(c.y), lock(c), r[1] = get(c.x); }},
     rr,
     at_the_end,
     {{all, at_least_one}}},
    {"sequentially_consistent_stores_are_not_buffered",
     {[](cells& c, registers& r) { set(c.x, 1, seq_cst), r[0] = get(c.y); },
      [](cells& c, registers& r) { set(c.y, 1, seq_cst), r[1] = get(c.x); }},
     rr,
     at_the_end,
     {{all, at_least_one}}},
    {"announcements_are_not_buffered",
     {[](cells& c, registers& r) { D::announce(c.x, 1), r[0] = get(c.y); },
      [](cells& c, registers& r) { D::announce(c.y, 1), r[1] = get(c.x); }},
     rr,
     at_the_end,
     {{all, at_least_one}}},
    {"load_buffering_does_not_happen",
     {[](cells& c, registers& r) { r[0] = get(c.y), set(c.x); },
      [](cells& c, registers& r) { r[1] = get(c.x), set(c.y); }},
     rr,
     at_the_end,
     {{all, {"00", "01", "10"}}}},
    {"message_passing",
     {[](cells& c, registers&) { set(c.x), set(c.y); },
      [](cells& c, registers& r) { r[0] = get(c.y), r[1] = get(c.x); }},
     rr,
     at_the_end,
     {{all, {"00", "01", "11"}}}},
    {"a_reader_never_goes_back",
     {[](cells& c, registers&) { set(c.x), set(c.x, 2); },
      [](cells& c, registers& r) { r[0] = get(c.x), r[1] = get(c.x); }},
     rr,
     at_the_end,
     {{all, {"00", "01", "02", "11", "12", "22"}}}},
    {"a_thread_sees_its_own_stores_first",
     {[](cells& c, registers& r) { set(c.x), r[0] = get(c.x), r[1] = get(c.y); },
      [](cells& c, registers& r) { set(c.y), r[2] = get(c.y), r[3] = get(c.x); }},
     rrrr,
     at_the_end,
     {{unbuffered, {"1011", "1110", "1111"}}, {buffered, {"1010", "1011", "1110", "1111"}}}},
    {"a_thread_sees_the_newest_of_its_own_stores",
     {[](cells& c, registers& r) { set(c.x), set(c.x, 2), r[0] = get(c.x); },
      [](cells& c, registers& r) { r[1] = get(c.x); }},
     rr,
     at_the_end,
     {{all, {"20", "21", "22"}}}},
    {"two_writers_of_two_words_agree_on_an_order",
     {[](cells& c, registers&) { set(c.x), set(c.y, 2); },
      [](cells& c, registers&) { set(c.y), set(c.x, 2); }},
     x_y,
     at_the_end,
     {{all, {"12", "21", "22"}}}},
    {"a_write_and_a_read_may_pass_each_other",
     {[](cells& c, registers&) { set(c.x), set(c.y); },
      [](cells& c, registers& r) { set(c.y, 2), r[0] = get(c.x); }},
     y_r,
     at_the_end,
     {{unbuffered, {"10", "11", "21"}}, {buffered, {"10", "11", "20", "21"}}}},
    {"a_store_does_not_pass_an_earlier_load",
     {[](cells& c, registers&) { set(c.x, 2), set(c.y); },
      [](cells& c, registers& r) { r[0] = get(c.y), set(c.x); }},
     x_r,
     at_the_end,
     {{all, {"10", "11", "20"}}}},
    {"a_double_word_is_seen_whole",
     {[](cells& c, registers&) { D::store(both(c), pair{1, 1}, release); },
      [](cells& c, registers& r) {
        const pair seen = D::load(both(c), acquire);
        r[0] = seen.a, r[1] = seen.b;
      }},
     rr,
     at_the_end,
     {{all, {"00", "11"}}}},
    {"parts_of_one_word_meet_in_memory",
     {[](cells& c, registers&) {
        const std::uint8_t one = 1;
        D::write(&c.x, &one, 1);
      },
      [](cells& c, registers&) {
        const std::uint8_t one = 1;
        D::write(reinterpret_cast<std::byte*>(&c.x) + 1, &one, 1);
      }},
     x_y,
     at_the_end,
     {{all, {"2570"}}}},
    {"locked_additions_are_never_lost",
     {[](cells& c, registers&) { (void)D::fetch_add(c.x, 1, relaxed); },
      [](cells& c, registers&) { (void)D::fetch_add(c.x, 1, relaxed); }},
     x_y,
     at_the_end,
     {{all, {"20"}}}},
    {"plain_additions_may_be_lost",
     {[](cells& c, registers&) { set(c.x, get(c.x) + 1); },
      [](cells& c, registers&) { set(c.x, get(c.x) + 1); }},
     x_y,
     at_the_end,
     {{all, {"10", "20"}}}},
};

// --- running them ---

/// One program on one machine: every outcome of some hundred executions.
class collector final : public verify::crash_observer {
 public:
  collector(const litmus& what, const memory_model& model)
      : what_(what), machine_(4096, 2, model, {}) {
    if (what.when == at_any_crash) machine_.observe_crash_points(this);
    machine_.offer_crash_after_stores(true);
  }

  outcomes run() {
    for (const auto& order : {verify::random_strategy(), verify::pct_strategy(3)}) {
      for (std::uint64_t seed = 0; seed < 300; ++seed) execute(*order, seed);
    }
    return seen_;
  }

  void crash_point() override {
    verify::crash_choice choice;
    choose(choice);
  }

 private:
  cells& memory() { return *reinterpret_cast<cells*>(machine_.memory().bytes().data()); }
  void note() { seen_.insert(what_.see(memory(), registers_)); }

  void execute(verify::strategy& order, std::uint64_t seed) {
    registers_ = {};
    machine_.memory().enter_checkpoint();
    if (what_.when == at_any_crash) crash_point();
    machine_.prepare_decisions(verify::random(seed), 20);
    const auto body = [&](unsigned t) { what_.threads[t](memory(), registers_); };
    const verify::fault ended =
        machine_.run_threads(static_cast<unsigned>(what_.threads.size()), body, order);
    EXPECT_FALSE(ended) << *ended;
    if (what_.when == at_the_end) {
      note();
    } else {
      crash_point();
    }
    machine_.memory().leave();
  }

  void choose(verify::crash_choice& choice) {
    const auto dirty = machine_.memory().dirty_lines();
    if (choice.size() == dirty.size()) {
      machine_.memory().enter(choice);
      note();
      machine_.memory().leave();
      return;
    }
    for (const std::uint64_t set : machine_.memory().survivor_sets(dirty[choice.size()])) {
      choice.push_back(set);
      choose(choice);
      choice.pop_back();
    }
  }

  const litmus& what_;
  verify::machine machine_;
  registers registers_{};
  outcomes seen_;
};

/// A program on one machine.
struct trial {
  litmus what;
  std::string model;
  outcomes allowed;
};

void PrintTo(const trial& one, std::ostream* out) { *out << one.what.name << " on " << one.model; }

std::vector<trial> every_trial() {
  std::vector<trial> trials;
  for (const auto& part : {alone, special, together, results, visibility}) {
    for (const litmus& what : part) {
      for (const verdict& each : what.verdicts) {
        std::istringstream models(each.models);
        for (std::string model; models >> model;) trials.push_back({what, model, each.allowed});
      }
    }
  }
  return trials;
}

class Litmus : public testing::TestWithParam<trial> {};

TEST_P(Litmus, has_exactly_the_outcomes_that_theory_allows) {
  const trial& now = GetParam();
  EXPECT_EQ(collector(now.what, verify::memory_model_from_text(now.model)).run(), now.allowed);
}

std::string name_of(const testing::TestParamInfo<trial>& at) {
  std::string name = std::string(at.param.what.name) + "_on_" + at.param.model;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(programs, Litmus, testing::ValuesIn(every_trial()), name_of);

}  // namespace
}  // namespace outlast::test
