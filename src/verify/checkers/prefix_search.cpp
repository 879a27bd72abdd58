// The search for an order of a history with a permitted prefix.
#include <outlast/verify/checkers/prefix_search.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

namespace outlast::verify {
namespace {

constexpr std::size_t max_events = 64;

constexpr std::uint64_t bit(std::size_t number) { return std::uint64_t{1} << number; }

/// One search. It is depth-first, because nearly every search succeeds.
class search {
 public:
  search(const stepwise_oracle& meaning, std::span<const event> events, const abstract_state& found,
         prefix_demand demand, checker_rules rules)
      : meaning_(meaning),
        events_(events),
        found_(found),
        demand_(demand),
        rules_(rules),
        responded_(all_that_responded(events).inside) {}

  struct node {
    std::uint64_t done = 0;
    std::uint64_t seen = 0;  // of the demanded ones, those that have a place in the prefix
    bool prefix_ended = false;
    abstract_state state;
    friend bool operator==(const node&, const node&) = default;
  };

  /// Returns true if an order that has reached `here` can be completed.
  bool leads_on(const node& here) {
    if (std::find(met_.begin(), met_.end(), here) != met_.end()) return false;
    met_.push_back(here);
    if (here.prefix_ended ? (here.done & responded_) == responded_ : may_end(here)) return true;
    if (!here.prefix_ended && sees_more(here)) return true;
    const limits now = limits_at(here.done);
    for (std::size_t i = 0; i < events_.size(); ++i) {
      if (may_follow(here, i, now) && goes_on_with(here, i)) return true;
    }
    return false;
  }

 private:
  /// Returns the conditions of the remaining events on the next one.
  struct limits {
    std::uint32_t deadline = event::never;
    std::uint64_t lowest_stamp = ~std::uint64_t{0};
  };

  limits limits_at(std::uint64_t done) const {
    limits now;
    for (std::size_t i = 0; i < events_.size(); ++i) {
      if ((done & bit(i)) != 0) continue;
      if (rules_.keeps_real_time) now.deadline = std::min(now.deadline, events_[i].responded);
      const std::uint64_t stamp = events_[i].result.stamp;
      if (stamp != 0) now.lowest_stamp = std::min(now.lowest_stamp, stamp);
    }
    return now;
  }

  bool may_follow(const node& here, std::size_t i, const limits& now) const {
    if ((here.done & bit(i)) != 0 || events_[i].invoked > now.deadline) return false;
    if (!here.prefix_ended) {
      if ((demand_.outside & bit(i)) != 0 || !agrees_with_seen(here, i)) return false;
    }
    return events_[i].result.stamp <= now.lowest_stamp;
  }

  bool goes_on_with(const node& here, std::size_t i) {
    const std::uint64_t done = here.done | bit(i);
    if (auto after = meaning_.step(here.state, events_[i])) {
      if (leads_on({done, here.seen, here.prefix_ended, *std::move(after)})) return true;
    }
    return !rules_.keeps_prefix && leads_on({done, here.seen, here.prefix_ended, here.state});
  }

  /// Returns true if an order can be completed in which one more of the results is true here.
  bool sees_more(const node& here) {
    const std::uint64_t left = demand_.seen & ~here.seen;
    for (std::size_t i = 0; i < events_.size(); ++i) {
      if ((left & bit(i)) == 0 || is_any_before(left, events_[i].invoked)) continue;
      const auto after = meaning_.step(here.state, events_[i]);
      if (!after || *after != here.state) continue;
      if (leads_on({here.done, here.seen | bit(i), false, here.state})) return true;
    }
    return false;
  }
  /// Returns true if one of the events responded before that time.
  bool is_any_before(std::uint64_t which, std::uint32_t time) const {
    for (std::size_t i = 0; i < events_.size() && rules_.keeps_real_time; ++i) {
      if ((which & bit(i)) != 0 && events_[i].responded < time) return true;
    }
    return false;
  }
  /// Returns false if the real time of the event contradicts that of the results which have a place
  /// in the prefix, or do not have it yet.
  bool agrees_with_seen(const node& here, std::size_t i) const {
    if (is_any_before(demand_.seen & ~here.seen, events_[i].invoked)) return false;
    for (std::size_t j = 0; j < events_.size() && rules_.keeps_real_time; ++j) {
      if ((here.seen & bit(j)) != 0 && events_[i].responded < events_[j].invoked) return false;
    }
    return true;
  }

  /// Returns true if the prefix may end here and the remaining events explain the other results.
  bool may_end(const node& here) {
    if (here.state != found_) return false;
    if (!rules_.keeps_completed) return true;
    if ((here.done & demand_.inside) != demand_.inside) return false;
    if ((here.seen & demand_.seen) != demand_.seen) return false;
    return leads_on({here.done, here.seen, true, here.state});
  }

  const stepwise_oracle& meaning_;
  std::span<const event> events_;
  const abstract_state& found_;
  prefix_demand demand_;
  checker_rules rules_;
  std::uint64_t responded_;
  std::vector<node> met_;
};

}  // namespace

prefix_demand all_that_responded(std::span<const event> events) {
  if (events.size() > max_events) throw std::length_error("a history of more than 64 events");
  prefix_demand demand;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!events[i].pending()) demand.inside |= bit(i);
  }
  return demand;
}

bool has_prefix(const stepwise_oracle& meaning, std::span<const event> events,
                const abstract_state& initial, const abstract_state& found, prefix_demand demand,
                checker_rules rules) {
  if ((demand.inside & demand.outside) != 0) return false;
  return search(meaning, events, found, demand, rules).leads_on({0, 0, false, initial});
}

}  // namespace outlast::verify
