// Requests of the server's protocols, valid and damaged, for tests/fuzz/conversations_test.cpp.
#pragma once

#include <tests/support/memcached_binary.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::fuzz {

enum class protocol : std::uint8_t { text, meta, binary, resp };

/// Commands of RESP: K is a key, N a number, B a byte string.
inline constexpr std::array<std::string_view, 72> resp_forms = {"GET K",
                                                                "SET K B",
                                                                "SET K B EX N",
                                                                "SET K B PX N NX",
                                                                "SET K B KEEPTTL XX GET",
                                                                "SETNX K B",
                                                                "SETEX K N B",
                                                                "PSETEX K N B",
                                                                "GETSET K B",
                                                                "GETDEL K",
                                                                "GETEX K EX N",
                                                                "GETEX K PERSIST",
                                                                "MGET K K K",
                                                                "MSET K B K B",
                                                                "MSETNX K B K B",
                                                                "APPEND K B",
                                                                "STRLEN K",
                                                                "GETRANGE K N N",
                                                                "SETRANGE K N B",
                                                                "SUBSTR K N N",
                                                                "LCS K K",
                                                                "LCS K K IDX",
                                                                "INCR K",
                                                                "DECR K",
                                                                "INCRBY K N",
                                                                "DECRBY K N",
                                                                "INCRBYFLOAT K N",
                                                                "DEL K K",
                                                                "UNLINK K",
                                                                "EXISTS K K",
                                                                "TOUCH K",
                                                                "TYPE K",
                                                                "RENAME K K",
                                                                "RENAMENX K K",
                                                                "COPY K K",
                                                                "COPY K K REPLACE",
                                                                "KEYS *",
                                                                "KEYS B",
                                                                "SCAN N",
                                                                "SCAN 0 MATCH K* COUNT N",
                                                                "RANDOMKEY",
                                                                "EXPIRE K N",
                                                                "PEXPIRE K N NX",
                                                                "EXPIREAT K N",
                                                                "PEXPIREAT K N GT",
                                                                "TTL K",
                                                                "PTTL K",
                                                                "EXPIRETIME K",
                                                                "PERSIST K",
                                                                "OBJECT ENCODING K",
                                                                "OBJECT FREQ K",
                                                                "FLUSHALL",
                                                                "DBSIZE",
                                                                "PING",
                                                                "PING B",
                                                                "ECHO B",
                                                                "HELLO 3",
                                                                "HELLO 2 SETNAME K",
                                                                "RESET",
                                                                "SELECT 0",
                                                                "CLIENT SETNAME K",
                                                                "CLIENT REPLY OFF",
                                                                "CLIENT REPLY ON",
                                                                "CLIENT DURABLE ON",
                                                                "MULTI",
                                                                "EXEC",
                                                                "DISCARD",
                                                                "WATCH K",
                                                                "UNWATCH",
                                                                "WAITAOF N 0 0",
                                                                "COMMAND COUNT",
                                                                "CONFIG GET *"};

/// Makes streams of requests from a seed.
class request_maker {
 public:
  explicit request_maker(std::uint64_t seed) : random_(seed) {}

  /// Returns a number below `end`.
  std::size_t below(std::size_t end) { return static_cast<std::size_t>(random_() % end); }
  /// Returns true in one of `of` cases.
  bool once_in(std::size_t of) { return below(of) == 0; }

  /// Returns some requests, of which about half have been changed.
  std::string stream(protocol of) {
    std::vector<std::string> requests;
    for (std::size_t i = 1 + below(6); i != 0; --i) requests.push_back(request(of));
    if (!once_in(3)) {
      for (std::size_t i = 1 + below(4); i != 0; --i) damage(requests, of);
    }
    std::string all;
    for (const std::string& one : requests) all += one;
    return all;
  }

 private:
  using views = std::span<const std::string_view>;

  std::string_view pick(views from) { return from[below(from.size())]; }

  std::string key() {
    static constexpr std::array<std::string_view, 8> some = {"a",   "b",      "n",        "k:1",
                                                             "bin", "absent", "\xc3\xa4", "c"};
    if (once_in(40)) return std::string(248 + below(6), 'k');
    return std::string(pick(some));
  }
  std::string number() {
    static constexpr std::array<std::string_view, 26> some = {"0",
                                                              "1",
                                                              "2",
                                                              "3",
                                                              "10",
                                                              "100",
                                                              "-1",
                                                              "-2",
                                                              "2147483647",
                                                              "2147483648",
                                                              "4294967295",
                                                              "4294967296",
                                                              "2147483646",
                                                              "9223372036854775807",
                                                              "9223372036854775808",
                                                              "18446744073709551615",
                                                              "18446744073709551616",
                                                              "1700000100",
                                                              "00",
                                                              "+1",
                                                              "1.5",
                                                              "-9223372036854775808",
                                                              "536870912",
                                                              "1048576",
                                                              "65536",
                                                              "1e3"};
    if (once_in(3)) return std::to_string(below(30));
    return std::string(pick(some));
  }
  std::string value() {
    static constexpr std::array<std::string_view, 9> some = {
        "", "5", "10", "abc", "\r\n", "a\r\nget a\r\n", " 7 ", "18446744073709551615", "\x80\x01"};
    if (once_in(8)) return std::string(below(300), 'v');
    if (once_in(200)) return std::string(below(5000), 'w');
    return std::string(pick(some));
  }

  /// Replaces the letters of a form: K key, N number, V a value after its length, B a byte string.
  std::string filled(std::string_view form) {
    std::string made;
    for (const char one : form) {
      if (one == 'K') {
        made += key();
      } else if (one == 'N') {
        made += number();
      } else if (one == 'B') {
        made += value();
      } else if (one == 'V') {
        const std::string bytes = value();
        made.append(std::to_string(bytes.size())).append("\r\n").append(bytes);
      } else if (one == 'Q') {
        const std::string bytes = value();
        made.append(std::to_string(bytes.size())).append(" noreply\r\n").append(bytes);
      } else {
        made += one;
      }
    }
    return made + "\r\n";
  }

  std::string text_request() {
    static constexpr std::array<std::string_view, 32> forms = {"get K",
                                                               "get K K K",
                                                               "gets K",
                                                               "gat N K",
                                                               "gats N K K",
                                                               "set K N N V",
                                                               "set K 0 0 V",
                                                               "set K 0 0 V",
                                                               "set K 0 0 Q",
                                                               "add K N N V",
                                                               "replace K N 0 V",
                                                               "append K 0 0 V",
                                                               "prepend K 0 0 V",
                                                               "cas K 0 0 1 N\r\n5",
                                                               "incr K N",
                                                               "decr K N",
                                                               "incr K N noreply",
                                                               "touch K N",
                                                               "delete K",
                                                               "delete K 0",
                                                               "flush_all",
                                                               "flush_all N",
                                                               "version",
                                                               "verbosity 1",
                                                               "durable on",
                                                               "durable off",
                                                               "durable wait",
                                                               "stats settings",
                                                               "stats detail on",
                                                               "cache_memlimit N",
                                                               "mn",
                                                               "shutdown"};
    return filled(pick(forms));
  }

  std::string meta_request() {
    static constexpr std::array<std::string_view, 6> begins = {"mg K",   "mg K v", "md K",
                                                               "ma K v", "me K",   "ms K "};
    static constexpr std::array<std::string_view, 30> flags = {
        " v",  " t",  " f",  " s",  " c",  " h",  " l",  " k",  " q",  " u",
        " b",  " I",  " ON", " TN", " NN", " RN", " CN", " FN", " EN", " DN",
        " JN", " MA", " MP", " ME", " MR", " MD", " MI", " S1", " P1", " L1"};
    std::string form(pick(begins));
    const bool stores = form.ends_with(' ');
    const std::string bytes = value();
    if (stores) form += std::to_string(bytes.size());
    for (std::size_t i = below(6); i != 0; --i) form += pick(flags);
    std::string made = filled(form);
    return stores ? made + bytes + "\r\n" : made;
  }

  std::string binary_request() {
    test::binary::request made;
    made.opcode = static_cast<std::uint8_t>(once_in(30) ? below(256) : below(0x25));
    const bool has_key = !(made.opcode == 0x07 || made.opcode == 0x08 || made.opcode == 0x0a ||
                           made.opcode == 0x0b || made.opcode == 0x17 || made.opcode == 0x18 ||
                           made.opcode == 0x1b || made.opcode == 0x20);
    if (has_key) made.key = key();
    const unsigned plain =
        made.opcode >= 0x11 && made.opcode <= 0x18 ? made.opcode - 0x10U : made.opcode;
    std::size_t extras = 0;
    if (plain >= 1 && plain <= 3) extras = 8;
    if (plain == 5 || plain == 6) extras = 20;
    if (plain == 0x1b || (plain >= 0x1c && plain <= 0x1e) || plain >= 0x23) extras = 4;
    if (plain == 0x08 && once_in(2)) extras = 4;
    for (std::size_t i = 0; i != extras; ++i) made.extras += byte();
    if ((plain >= 1 && plain <= 3) || plain == 0x0e || plain == 0x0f || plain == 0x19 ||
        plain == 0x1a || plain == 0x21 || plain == 0x22) {
      made.value = value();
    }
    if (made.opcode == 0x10) made.key = once_in(2) ? "settings" : "detail on";
    if (once_in(5)) made.unique = below(20);
    return test::binary::bytes_of(made);
  }

  std::string resp_request() {
    std::vector<std::string> words(1);
    for (const char one : pick(resp_forms)) {
      if (one == ' ') {
        words.emplace_back();
      } else if ((one == 'K' || one == 'N' || one == 'B') && words.back().empty() &&
                 words.size() > 1) {
        words.back() = one == 'K' ? key() : one == 'N' ? number() : value();
        words.back() += '\0';  // the rest of the word of the form is not added
      } else if (words.back().empty() || words.back().back() != '\0') {
        words.back() += one;
      }
    }
    for (std::string& word : words) {
      if (!word.empty() && word.back() == '\0') word.pop_back();
    }
    std::string made;
    if (once_in(10)) {
      for (const std::string& word : words) made.append(word).append(" ");
      return made + "\r\n";
    }
    made.append("*").append(std::to_string(words.size())).append("\r\n");
    for (const std::string& word : words) {
      made.append("$").append(std::to_string(word.size())).append("\r\n").append(word);
      made.append("\r\n");
    }
    return made;
  }

  std::string request(protocol of) {
    switch (of) {
      case protocol::text: return once_in(10) ? meta_request() : text_request();
      case protocol::meta: return once_in(10) ? text_request() : meta_request();
      case protocol::binary: return binary_request();
      case protocol::resp: return resp_request();
    }
    return {};
  }

  char byte() {
    static constexpr std::string_view likely("\0\x01\x80\x81\xff\r\n *$:k09-", 15);
    return once_in(2) ? likely[below(likely.size())] : static_cast<char>(below(256));
  }

  /// Changes one of the requests.
  void damage(std::vector<std::string>& requests, protocol of) {
    std::string& one = requests[below(requests.size())];
    if (one.empty()) return;
    const std::size_t at = below(one.size());
    const std::size_t size = 1 + below(once_in(4) ? 64 : 4);
    switch (below(9)) {
      case 0: one[at] = byte(); break;
      case 1: one.insert(one.begin() + static_cast<std::ptrdiff_t>(at), byte()); break;
      case 2: one.erase(at, size); break;
      case 3: one.insert(at, one.substr(below(one.size()), size)); break;
      case 4: one.resize(at); break;
      case 5: one.swap(requests[below(requests.size())]); break;
      case 6: replace_number(one, at, of); break;
      case 7: one.insert(at, request(static_cast<protocol>(below(4)))); break;
      case 8: one.insert(at, std::string(below(once_in(20) ? 9000 : 300), byte())); break;
      default: break;
    }
  }

  /// Replaces the number at or after an offset, or a byte of the head of a binary request.
  void replace_number(std::string& one, std::size_t at, protocol of) {
    if (of == protocol::binary) {
      one[below(std::min<std::size_t>(one.size(), test::binary::head_bytes))] = byte();
      return;
    }
    constexpr std::string_view digits = "0123456789";
    const std::size_t begin = one.find_first_of(digits, at);
    if (begin == std::string::npos) return;
    const std::size_t end = std::min(one.find_first_not_of(digits, begin), one.size());
    one.replace(begin, end - begin, number());
  }

  std::mt19937_64 random_;
};

}  // namespace outlast::fuzz
