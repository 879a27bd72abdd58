// The members of sorted sets and their scores.
#include <outlast/base/error.hpp>

#include <src/server/resp/changes.hpp>
#include <src/server/resp/part_names.hpp>
#include <src/server/resp/scores.hpp>

namespace outlast::server::resp {

using part_names::kind;

double stored_score(std::string_view value) {
  if (value.size() != part_names::number_bytes) {
    throw error(errc::corrupted, "", "the score of a member has a wrong size");
  }
  return part_names::score_of(part_names::big_endian(value));
}

std::optional<double> score_in(const elements& of, std::string_view member) {
  std::optional<double> found;
  of.read(member, [&](std::string_view value) { found = stored_score(value); });
  return found;
}

std::string order_name(double score, std::string_view member) {
  return part_names::name_of(kind::order, part_names::order_of(score), member);
}

std::string first_order_name() { return part_names::name_of(kind::order, 0); }
std::string end_order_name() { return part_names::name_of(kind::place, 0); }

void put_score(edited_elements& to, std::string_view member, std::optional<double> old,
               double score) {
  std::string value;
  part_names::add_big_endian(value, part_names::order_of(score));
  if (old) {
    to.remove_part_now(order_name(*old, member));
    to.replace(member, value);
  } else {
    to.put(member, value);
  }
  to.put_part(order_name(score, member), "");
}

bool remove_member(edited_elements& from, std::string_view member) {
  const std::optional<double> score = score_in(from, member);
  if (!score || !from.remove(member)) return false;
  from.remove_part(order_name(*score, member));
  return true;
}

void walk_scores(const elements& of, std::string_view from, score_visitor visit) {
  of.parts().walk(from, [&](std::string_view name, std::string_view) {
    return part_names::is_name(kind::order, name) &&
           visit(name.substr(part_names::head_bytes),
                 part_names::score_of(part_names::number_in(name)));
  });
}

void walk_scores_back(const elements& of, std::string_view before, score_visitor visit) {
  of.parts().walk_back(before, [&](std::string_view name, std::string_view) {
    return part_names::is_name(kind::order, name) &&
           visit(name.substr(part_names::head_bytes),
                 part_names::score_of(part_names::number_in(name)));
  });
}

void store_members(session& to, std::string_view key, const std::vector<scored_member>& members) {
  if (members.empty()) {
    to.change(key, [](const item* old) { return old == nullptr ? nothing() : erased(); });
    return;
  }
  replace_elements(to, key, item_type::sorted_set, [&](edited_elements& made) {
    for (const scored_member& each : members) {
      put_score(made, each.member, std::nullopt, each.score);
    }
  });
}

void begin_members(session& to, std::size_t count, bool has_scores) {
  to.out.array(has_scores && to.out.protocol() == 2 ? 2 * count : count);
}

void write_member(session& to, std::string_view member, double score, bool has_scores) {
  if (has_scores && to.out.protocol() == 3) to.out.array(2);
  to.out.bulk(member);
  if (has_scores) write_score(to, score);
}

void write_members(session& to, const std::vector<scored_member>& members, bool has_scores) {
  begin_members(to, members.size(), has_scores);
  for (const scored_member& each : members) {
    if (to.out.is_full()) return;
    write_member(to, each.member, each.score, has_scores);
  }
}

}  // namespace outlast::server::resp
