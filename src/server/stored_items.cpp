// A store as the key space of a server: the space under the locks of the operating system.
#include <outlast/domain/native.hpp>
#include <outlast/server/stored_items.hpp>
#include <src/server/stored/space_calls.hpp>
#include <src/server/stored/space_part_sweep.hpp>
#include <src/server/stored/space_parts.hpp>
#include <src/server/stored/space_sweep.hpp>
#include <src/server/stored/stored_space.hpp>

#include <memory>

namespace outlast::server {

class stored_items::space final : public stored_space<domain::native> {
 public:
  using stored_space::stored_space;
};

stored_items::stored_items(db::DB& store, const stored_items_options& options)
    : space_(std::make_unique<space>(store, options)) {}
stored_items::~stored_items() = default;

bool stored_items::read(std::string_view key, std::int64_t now_ms, use how, reader look) {
  return space_->read(key, now_ms, how, look);
}
change_result stored_items::modify(std::string_view key, std::int64_t now_ms, decider decide) {
  return space_->modify(key, now_ms, decide);
}
bool stored_items::read_parts(std::string_view key, std::int64_t now_ms, use how,
                              parts_reader look) {
  return space_->read_parts(key, now_ms, how, look);
}
change_result stored_items::modify_parts(std::string_view key, std::int64_t now_ms,
                                         parts_decider decide) {
  return space_->modify_parts(key, now_ms, decide);
}
void stored_items::together(base::function_ref<void()> work) { space_->together(work); }
token stored_items::erase_all(std::int64_t now_ms, std::int64_t from_ms) {
  return space_->erase_all(now_ms, from_ms);
}
std::uint64_t stored_items::scan(std::uint64_t cursor, std::size_t count, std::int64_t now_ms,
                                 visitor visit) {
  return space_->scan(cursor, count, now_ms, visit);
}
sweep_result stored_items::sweep(std::int64_t now_ms, std::size_t count) {
  return space_->sweep(now_ms, count);
}
void stored_items::make_durable() { space_->make_durable(); }
std::uint64_t stored_items::items() const { return space_->items(); }
std::uint64_t stored_items::bytes() const { return space_->bytes(); }
token stored_items::durable_token() const { return space_->durable_token(); }
token stored_items::present_token() const { return space_->present_token(); }
std::string stored_items::guarantee() const { return space_->guarantee(); }

}  // namespace outlast::server
