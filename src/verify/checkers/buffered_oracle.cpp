// The checker of buffered durable linearizability.
#include <outlast/verify/checkers/buffered_oracle.hpp>

#include <algorithm>

namespace outlast::verify {
namespace {

constexpr auto sync_kind = static_cast<std::uint8_t>(epoch_operation::sync);
constexpr auto advance_kind = static_cast<std::uint8_t>(epoch_operation::advance);

bool about_epochs(const call& what) { return what.kind == sync_kind || what.kind == advance_kind; }

/// Returns the epoch of a state, which is 0 for the empty one.
std::uint64_t epoch_of(const abstract_state& state) { return state.empty() ? 0 : state.front(); }

abstract_state content_of(const abstract_state& state) {
  return state.empty() ? state : abstract_state(state.begin() + 1, state.end());
}

/// Returns the operations of the specification.
std::vector<event> meant(const history& seen) {
  std::vector<event> events;
  for (const event& e : seen.events()) {
    if (!about_epochs(e.what)) events.push_back(e);
  }
  return events;
}

/// Returns the time at which the latest completed sync was invoked.
std::uint32_t last_sync(const history& seen) {
  std::uint32_t last = 0;
  for (const event& e : seen.events()) {
    if (e.what.kind == sync_kind && !e.pending()) last = std::max(last, e.invoked);
  }
  return last;
}

std::uint64_t newest_claim(const history& seen) {
  std::uint64_t newest = 0;
  for (const event& e : seen.events()) newest = std::max(newest, e.result.durable);
  return newest;
}

/// Returns the greatest token that is reached after a crash. `boundary`: of the image.
std::uint64_t newest_reached(const history& seen, bool are_stamps, std::uint64_t boundary) {
  if (are_stamps) return boundary;
  std::uint64_t newest = 0;
  for (const event& e : seen.events()) newest = std::max(newest, e.result.reached);
  return newest;
}

std::uint64_t newest_stamp(std::span<const event> events) {
  std::uint64_t newest = 0;
  for (const event& e : events) newest = std::max(newest, e.result.stamp);
  return newest;
}

}  // namespace

bool buffered_oracle::explains(const abstract_state& initial, const history& seen,
                               const abstract_state& found) const {
  const std::vector<event> events = meant(seen);
  return has_prefix(*meaning_, events, content_of(initial), content_of(found),
                    all_that_responded(events), rules_);
}

bool buffered_oracle::explains_after_crash(const abstract_state& initial, const history& seen,
                                           const abstract_state& found) const {
  if (found.empty()) return false;
  if (rules_.keeps_lag && epoch_of(found) < epoch_of(initial)) return false;
  if (rules_.keeps_claims && epoch_of(found) < newest_claim(seen)) return false;
  const std::vector<event> events = meant(seen);
  return has_prefix(*meaning_, events, content_of(initial), content_of(found),
                    demanded(events, seen, epoch_of(found)), rules_);
}

prefix_demand buffered_oracle::demanded(std::span<const event> events, const history& seen,
                                        std::uint64_t boundary) const {
  const std::uint32_t synced = rules_.keeps_synced ? last_sync(seen) : 0;
  const std::uint64_t reached = newest_reached(seen, tokens_ == token_kind::stamps, boundary);
  const std::uint64_t newest = rules_.keeps_lag ? newest_stamp(events) : 0;
  prefix_demand demand;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const event& e = events[i];
    const std::uint64_t bit = std::uint64_t{1} << i;
    const std::uint64_t stamp = e.result.stamp;
    const bool named = rules_.keeps_boundary && stamp != 0 && stamp <= boundary;
    const std::uint64_t token = e.result.token;
    const bool promised = rules_.keeps_tokens && token != 0 && token <= reached;
    const bool old = stamp != 0 && stamp + lag_ <= newest;
    if (named || old || e.responded < synced) demand.inside |= bit;
    if (promised) (stamp != 0 ? demand.inside : demand.seen) |= bit;
    if (rules_.keeps_boundary && stamp > boundary) demand.outside |= bit;
  }
  return demand;
}

std::optional<call> buffered_oracle::closing() const { return call{sync_kind, 0, 0}; }

call buffered_oracle::draw(random& source, const scope& within, std::uint64_t serial) const {
  if (!source.one_in(3)) return meaning_->draw(source, within, serial);
  return {source.one_in(2) ? sync_kind : advance_kind, 0, 0};
}

std::vector<call> buffered_oracle::alphabet(const scope& within, std::uint64_t serial) const {
  std::vector<call> all = meaning_->alphabet(within, serial);
  if (!all.empty()) all.push_back({advance_kind, 0, 0});
  return all;
}

std::vector<std::vector<call>> buffered_oracle::beginnings(const scope& within) const {
  return meaning_->beginnings(within);
}

std::string buffered_oracle::describe(const call& what) const {
  if (what.kind == sync_kind) return "sync()";
  if (what.kind == advance_kind) return "advance()";
  return meaning_->describe(what);
}

std::string buffered_oracle::describe_result(const call& what, const outcome& result) const {
  if (what.kind == sync_kind || what.kind == advance_kind) return "done";
  return meaning_->describe_result(what, result);
}

std::string buffered_oracle::describe(const abstract_state& state) const {
  return meaning_->describe(content_of(state)) + " up to epoch " + std::to_string(epoch_of(state));
}

}  // namespace outlast::verify
