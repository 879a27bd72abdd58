// Reads the flags of meta commands.
#include <src/server/memcached/base64.hpp>
#include <src/server/memcached/meta_flags.hpp>

#include <algorithm>

namespace outlast::server::memcached {

namespace {

constexpr const char* bad_token = "CLIENT_ERROR bad token in command line format";

template <class Number>
const char* read_number(std::optional<Number> found, Number& to, const char* problem) {
  if (!found) return problem;
  to = *found;
  return nullptr;
}

}  // namespace

bool key_copy::decode() noexcept {
  std::array<char, max_key_bytes> decoded;
  const std::optional<std::size_t> size = decode_base64(view(), decoded.data());
  if (!size || *size == 0) return false;
  assign({decoded.data(), *size});
  return true;
}

const char* meta_flags::read(std::string_view key, words flags) {
  key_.assign(key);
  const char* problem = nullptr;
  for (std::string_view word = flags.next(); !word.empty(); word = flags.next()) {
    const char flag = word.front();
    const auto byte = static_cast<unsigned char>(flag);
    if (byte >= 127 || (byte >= first && has(flag))) return "CLIENT_ERROR duplicate flag";
    constexpr std::string_view known = "CDEFIJLMNOPRTbcfhklqstuv";
    if (known.find(flag) == std::string_view::npos) return "CLIENT_ERROR invalid flag";
    if (count_ == max_flags) break;  // the caller has counted them
    seen_ |= std::uint64_t{1} << (flag - first);
    order_[count_++] = flag;
    const char* wrong = read_token(flag, word.substr(1));
    // As in memcached, F has no text of its own.
    if (wrong != nullptr && (flag != 'F' || problem == nullptr)) problem = wrong;
  }
  return problem;
}

const char* meta_flags::read_token(char flag, std::string_view token) {
  switch (flag) {
    case 'b': return key_.decode() ? nullptr : "CLIENT_ERROR error decoding key";
    case 'C': {
      expected = unsigned_of(token);
      return expected ? nullptr : bad_token;
    }
    case 'E': return read_number(unsigned_of(token), unique, bad_token);
    case 'T': return read_number(signed32_of(token), ttl, bad_token);
    case 'N': return read_number(signed32_of(token), ttl_of_new, bad_token);
    case 'R': return read_number(signed32_of(token), ttl_to_win, bad_token);
    case 'F':
      return read_number(unsigned32_of(token), client_flags,
                         "CLIENT_ERROR bad command line format");
    case 'D':
      return read_number(unsigned_of(token), delta, "CLIENT_ERROR invalid numeric delta value");
    case 'J':
      return read_number(unsigned_of(token), initial, "CLIENT_ERROR invalid numeric initial value");
    case 'M':
      mode = token.empty() ? '\0' : token.front();
      return token.size() == 1 ? nullptr : "CLIENT_ERROR incorrect length for M token";
    case 'O':
      opaque_size_ = token.copy(opaque_.data(), max_opaque_bytes);
      opaque_fits_ = token.size() <= max_opaque_bytes;
      return nullptr;
    default: return nullptr;
  }
}

void meta_flags::add_echo(std::string& reply, char flag) const {
  if (flag == 'O') reply.append(" O").append(opaque_.data(), opaque_size_);
  if (flag != 'k') return;
  reply += " k";
  if (has('b')) {
    add_base64(reply, key());
    reply += " b";
  } else {
    reply += key();
  }
}

}  // namespace outlast::server::memcached
