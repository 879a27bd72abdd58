// The key space of a server: what a space of byte strings answers about parts.
#include <outlast/base/error.hpp>
#include <outlast/server/items.hpp>

namespace outlast::server {

namespace {

[[noreturn]] void refuse_parts() {
  throw error(errc::refused, "", "the items of this space are byte strings and have no parts");
}

}  // namespace

bool item_space::read_parts(std::string_view key, std::int64_t now_ms, use how, parts_reader look) {
  static_cast<void>(key);
  static_cast<void>(now_ms);
  static_cast<void>(how);
  static_cast<void>(look);
  refuse_parts();
}

change_result item_space::modify_parts(std::string_view key, std::int64_t now_ms,
                                       parts_decider decide) {
  static_cast<void>(key);
  static_cast<void>(now_ms);
  static_cast<void>(decide);
  refuse_parts();
}

}  // namespace outlast::server
