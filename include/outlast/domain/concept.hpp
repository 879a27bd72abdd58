// The persistence domain: the one interface under all persistent code.
//
// A domain provides the instructions that move a store, on this machine, from the caches to the
// place where it survives. Every load, store, compare-and-swap, copy and flush of persistent memory
// goes through a domain, so that the hardware, counting, slowed-down and simulated domains are
// interchangeable types.
//
// Laws that the compiler cannot check:
//   L1  After `pwb(a)` then `pfence()` by one thread, every store to a's line that happened before
//       the pwb survives whatever the domain promises to survive.
//   L2  A `pfence` orders the caller's earlier write-backs and streamed bytes before its later
//       stores.
//   L3  `psync` is a `pfence` after which the caller may acknowledge its operation.
//   L4  Stores of one thread to one line reach memory in order, if each later one is a release.
//   L5  An aligned 8-byte store is never torn.
//   L6  No streamed byte is published, on any domain, before a fence by the thread that wrote it.
//   L7  A domain only removes work: bytes written under one domain can be read under every other.
#pragma once

#include <outlast/base/word_pair.hpp>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>

namespace outlast::domain {

/// Names a flush, fence or store in the source: failure label, coverage counter and mutation point
/// of the verifier. It has no effect in production. Taken as the last, defaulted parameter: `site
/// where = site::current()`. Code that fences twice on behalf of one caller numbers the two fences
/// by `step`.
struct site : std::source_location {
  constexpr site(std::source_location location, unsigned at_step = 0) noexcept
      : std::source_location(location), step(at_step) {}

  /// For accesses that are no persistence sites: loads, and accesses of volatile memory.
  [[nodiscard]] static constexpr site none() noexcept { return {std::source_location()}; }

  [[nodiscard]] constexpr site at(unsigned other_step) const noexcept {
    return {*this, other_step};
  }

  unsigned step = 0;
};

/// The promises of domains. Stored in the pool's dirty mark: the values are part of the format.
enum class kind : unsigned {
  process = 1,           ///< survives the death of the process, not of the machine
  adr = 2,               ///< survives power loss once flushed and fenced
  cache_persistent = 3,  ///< survives power loss once globally visible (eADR, battery)
  file = 4,              ///< survives power loss once the device has been synced
  simulated = 5,
  logged_file = 6,  ///< the same as file, by a log in a second file
};

/// A persistence domain: see the laws above. All members are static; a domain has no state of its
/// own.
template <class D>
concept persistence_domain = requires(
    const void* address, void* destination, std::size_t size, std::atomic<std::uint64_t>& word,
    std::uint64_t value, std::uint64_t& expected, base::word_pair& pair,
    base::pair_value& pair_seen, std::memory_order order, site where) {
  /// Name for messages: `process`, `adr`, ...
  { D::name() } -> std::convertible_to<std::string_view>;
  { D::current_kind() } -> std::same_as<kind>;
  /// False if `pwb` has no effect: tags and flushes then cost nothing.
  { D::flushes() } noexcept -> std::same_as<bool>;
  /// True if a locked instruction orders earlier flushes (x86-64). False unless it was measured.
  { D::rmw_fences } -> std::convertible_to<bool>;
  D::pwb(address, where);
  D::pfence(where);
  D::psync(where);
  { D::load(word, order, where) } -> std::same_as<std::uint64_t>;
  D::store(word, value, order, where);
  { D::exchange(word, value, order, where) } -> std::same_as<std::uint64_t>;
  { D::compare_exchange(word, expected, value, order, where) } -> std::same_as<bool>;
  /// For two words as one, 16 bytes that a crash can tear between the words (L5). Acquires and
  /// releases.
  { D::compare_exchange_pair(pair, pair_seen, pair_seen, where) } -> std::same_as<bool>;
  { D::fetch_add(word, value, order, where) } -> std::same_as<std::uint64_t>;
  /// A store that every thread sees before any later load of the caller: base/announce.hpp.
  D::announce(word, value);
  /// Like announce(), for a caller that exchanges another word next.
  D::announce_before_exchange(word, value);
  /// Writes bytes that no other thread reads yet.
  D::write(destination, address, size, where);
  D::zero(destination, size, where);
  /// Like write(), past the caches: see L6.
  D::stream(destination, address, size, where);
  /// A point at which the simulator may switch threads, before an access of volatile memory at
  /// `address`, or of several places (without an address). No effect in other domains.
  D::schedule_point();
  D::schedule_point(address);
  /// Called in a loop that spins.
  D::relax();
};

}  // namespace outlast::domain
