// The members of sorted sets and their scores. Each member has two parts: its score by its name,
// and an empty part by its score.
#pragma once

#include <outlast/base/function_ref.hpp>

#include <src/server/resp/elements.hpp>
#include <src/server/resp/session.hpp>
#include <src/server/resp/words.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::server::resp {

struct scored_member {
  std::string member;
  double score;
};

/// Returns false to end the walk.
using score_visitor = base::function_ref<bool(std::string_view member, double score)>;

/// Returns the score that is the value of a member.
[[nodiscard]] double stored_score(std::string_view value);
[[nodiscard]] std::optional<double> score_in(const elements& of, std::string_view member);
/// Stores the score of a member whose score is `old`, or that is absent.
void put_score(edited_elements& to, std::string_view member, std::optional<double> old,
               double score);
/// Removes a member. Returns false if it is absent.
bool remove_member(edited_elements& from, std::string_view member);

/// Returns the name of the part of a member in the order of scores.
[[nodiscard]] std::string order_name(double score, std::string_view member);
/// Visits the members from the part `from` on, in ascending order.
void walk_scores(const elements& of, std::string_view from, score_visitor visit);
/// Visits the members before the part `before`, in descending order.
void walk_scores_back(const elements& of, std::string_view before, score_visitor visit);
/// Returns the names before all members and after them.
[[nodiscard]] std::string first_order_name();
[[nodiscard]] std::string end_order_name();

/// Copies members until the budget is used up, and throws a refusal then.
class member_list {
 public:
  explicit member_list(const session& of) : budget_(of) {}
  void add(std::string_view member, double score) {
    budget_.take(sizeof(scored_member) + member.size());
    found.push_back({std::string(member), score});
  }
  std::vector<scored_member> found;

 private:
  copy_budget budget_;
};

/// Stores a sorted set of these members under a key, whatever it had. Erases it if there are none.
void store_members(session& to, std::string_view key, const std::vector<scored_member>& members);

/// Writes a score in the version of the protocol.
inline void write_score(session& to, double score) { to.out.real(score_text(score)); }
/// Begins a list of members, with their scores if `has_scores`.
void begin_members(session& to, std::size_t count, bool has_scores);
/// Adds a member of such a list.
void write_member(session& to, std::string_view member, double score, bool has_scores);
void write_members(session& to, const std::vector<scored_member>& members, bool has_scores);

}  // namespace outlast::server::resp
