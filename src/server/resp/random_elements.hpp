// Random choices among the elements of an item.
#pragma once

#include <outlast/base/function_ref.hpp>
#include <outlast/server/items.hpp>

#include <src/server/resp/elements.hpp>
#include <src/server/resp/session.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::server::resp {

struct copied_element {
  std::string name;
  std::string value;
};

/// Calls `visit` with an element. Each has the same probability in an item of few elements, and
/// about the same in others. Requires: there is one.
void visit_random(session& to, const elements& of, elements::visitor visit);
/// Returns `count` different elements, or all. Throws a refusal if they are longer than the limit.
[[nodiscard]] std::vector<copied_element> distinct_elements(session& to, const elements& of,
                                                            std::uint64_t count);
/// Visits `count` elements, which may be the same. Throws as distinct_elements().
void visit_repeatedly(session& to, const elements& of, std::uint64_t count,
                      elements::visitor visit);

/// Writes the replies of HRANDFIELD, SRANDMEMBER and ZRANDMEMBER.
class random_reply {
 public:
  using value_writer = base::function_ref<void(std::string_view value)>;

  /// Requires: `write_value` outlives the object, so that it is no temporary one.
  template <class Write>
  random_reply(session& to, item_type type, bool has_values, Write& write_value)
      : to_(to), type_(type), has_values_(has_values), write_value_(write_value) {}
  /// Answers a call without a count: one name, or null.
  void write_one(std::string_view key);
  /// Answers a call with a count: different names, or repeated ones if it is negative.
  void write_several(std::string_view key, std::int64_t count);

 private:
  void write(std::string_view name, std::string_view value);
  void begin(std::uint64_t count);

  session& to_;
  item_type type_;
  bool has_values_;
  value_writer write_value_;
};

}  // namespace outlast::server::resp
