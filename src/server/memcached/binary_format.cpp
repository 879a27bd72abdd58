// Heads and opcodes of memcached's binary protocol.
#include <src/server/memcached/binary_format.hpp>
#include <src/server/memcached/meta_flags.hpp>

#include <array>

namespace outlast::server::memcached {

namespace {

constexpr std::size_t known_opcodes = 0x25;

constexpr std::array<opcode_info, known_opcodes> make_opcodes() noexcept {
  std::array<opcode_info, known_opcodes> all = {};
  all[0x00] = {.command = binary_command::get};
  all[0x01] = {.command = binary_command::store, .mode = store_mode::set};
  all[0x02] = {.command = binary_command::store, .mode = store_mode::add};
  all[0x03] = {.command = binary_command::store, .mode = store_mode::replace};
  all[0x04] = {.command = binary_command::remove};
  all[0x05] = {.command = binary_command::count};
  all[0x06] = {.command = binary_command::count, .decreases = true};
  all[0x07] = {.command = binary_command::quit};
  all[0x08] = {.command = binary_command::flush};
  all[0x09] = {.command = binary_command::get, .is_quiet = true};
  all[0x0a] = {.command = binary_command::noop};
  all[0x0b] = {.command = binary_command::version};
  all[0x0c] = {.command = binary_command::get, .shows_key = true};
  all[0x0d] = {.command = binary_command::get, .is_quiet = true, .shows_key = true};
  all[0x0e] = {.command = binary_command::store, .mode = store_mode::append};
  all[0x0f] = {.command = binary_command::store, .mode = store_mode::prepend};
  all[0x10] = {.command = binary_command::stat};
  for (std::size_t i = 0x11; i <= 0x18; ++i) {  // set to flush
    all[i] = all[i - 0x10];
    all[i].is_quiet = true;
  }
  all[0x19] = {.command = binary_command::store, .is_quiet = true, .mode = store_mode::append};
  all[0x1a] = {.command = binary_command::store, .is_quiet = true, .mode = store_mode::prepend};
  all[0x1b] = {.command = binary_command::verbosity};
  all[0x1c] = {.command = binary_command::touch};
  all[0x1d] = {.command = binary_command::get_and_touch};
  all[0x1e] = {.command = binary_command::get_and_touch, .is_quiet = true};
  all[0x20] = {.command = binary_command::list_mechanisms};
  all[0x21] = {.command = binary_command::authenticate};
  all[0x22] = {.command = binary_command::authenticate};
  all[0x23] = {.command = binary_command::get_and_touch, .shows_key = true};
  all[0x24] = {.command = binary_command::get_and_touch, .is_quiet = true, .shows_key = true};
  return all;
}

constexpr std::array<opcode_info, known_opcodes> opcodes = make_opcodes();

}  // namespace

std::string_view text_of(status result) noexcept {
  switch (result) {
    case status::not_found: return "Not found";
    case status::exists: return "Data exists for key.";
    case status::too_large: return "Too large.";
    case status::invalid: return "Invalid arguments";
    case status::not_stored: return "Not stored.";
    case status::not_a_number: return "Non-numeric server-side value for incr or decr";
    case status::unauthenticated: return "Auth failure.";
    case status::unknown_command: return "Unknown command";
    case status::no_memory: return "Out of memory";
    case status::success:
    case status::authentication_continues:
    case status::not_supported:
    case status::internal_error: return {};
  }
  return {};
}

opcode_info info_of(std::uint8_t opcode) noexcept {
  return opcode < opcodes.size() ? opcodes[opcode] : opcode_info{};
}

request_head head_of(std::string_view bytes) noexcept {
  request_head head;
  head.opcode = big_endian<std::uint8_t>(bytes, 1);
  head.key_bytes = big_endian<std::uint16_t>(bytes, 2);
  head.extras_bytes = big_endian<std::uint8_t>(bytes, 4);
  head.body_bytes = big_endian<std::uint32_t>(bytes, 8);
  head.opaque = big_endian<std::uint32_t>(bytes, 12);
  head.unique = big_endian<std::uint64_t>(bytes, 16);
  return head;
}

bool has_form_of(const request_head& head, const opcode_info& info) noexcept {
  if (head.key_bytes > max_key_bytes) return false;
  const auto has = [&](std::size_t extras_bytes, bool has_key, bool may_have_value) {
    return head.extras_bytes == extras_bytes && (head.key_bytes != 0) == has_key &&
           (may_have_value || head.value_bytes() == 0);
  };
  switch (info.command) {
    case binary_command::get:
    case binary_command::remove: return has(0, true, false);
    case binary_command::touch:
    case binary_command::get_and_touch: return has(4, true, false);
    case binary_command::store: {
      const bool extends = info.mode == store_mode::append || info.mode == store_mode::prepend;
      return has(extends ? 0 : 8, true, true);
    }
    case binary_command::count: return has(max_extras_bytes, true, false);
    case binary_command::flush: return has(0, false, false) || has(4, false, false);
    case binary_command::stat: return has(0, true, false) || has(0, false, false);
    case binary_command::verbosity: return has(4, false, false);
    case binary_command::noop:
    case binary_command::version:
    case binary_command::quit:
    case binary_command::list_mechanisms: return has(0, false, false);
    case binary_command::authenticate: return has(0, true, true);
    case binary_command::unknown: return true;
  }
  return false;
}

void add_reply(std::string& to, const request_head& request, const binary_reply& reply) {
  const std::size_t body = reply.extras.size() + reply.key.size() + reply.value.size();
  std::array<char, request_head_bytes> head = {};
  head[0] = reply_magic;
  put_big_endian(&head[1], request.opcode);
  put_big_endian(&head[2], static_cast<std::uint16_t>(reply.key.size()));
  put_big_endian(&head[4], static_cast<std::uint8_t>(reply.extras.size()));
  put_big_endian(&head[6], static_cast<std::uint16_t>(reply.result));
  put_big_endian(&head[8], static_cast<std::uint32_t>(body));
  put_big_endian(&head[12], request.opaque);
  put_big_endian(&head[16], reply.unique);
  to.append(head.data(), head.size()).append(reply.extras).append(reply.key).append(reply.value);
}

}  // namespace outlast::server::memcached
