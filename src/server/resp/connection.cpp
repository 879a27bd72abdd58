// Commands about the connection: authentication, protocol, end.
#include <src/server/resp/client_text.hpp>
#include <src/server/resp/commands.hpp>
#include <src/server/resp/error_texts.hpp>
#include <src/server/resp/session.hpp>
#include <src/server/resp/words.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace outlast::server::resp {
namespace {

/// The words of HELLO.
struct hello_words {
  int protocol;
  std::optional<std::string_view> name;
};

/// Reads the words of HELLO, and authenticates if they have a password. Adds an error and returns
/// nothing if they are wrong.
std::optional<hello_words> hello_words_of(session& to, arguments words) {
  hello_words found{to.out.protocol(), {}};
  if (words.size() > 1) {
    const std::optional<std::int64_t> protocol = integer_of(words[1]);
    if (!protocol) {
      to.out.error("ERR Protocol version is not an integer or out of range");
      return std::nullopt;
    }
    if (*protocol != 2 && *protocol != 3) {
      to.out.error("NOPROTO unsupported protocol version");
      return std::nullopt;
    }
    found.protocol = static_cast<int>(*protocol);
  }
  for (std::size_t at = 2; at < words.size(); ++at) {
    const std::size_t more = words.size() - 1 - at;
    if (is_word(words[at], "auth") && more >= 2) {
      if (!to.authenticate(words[at + 1], words[at + 2])) return std::nullopt;
      at += 2;
    } else if (is_word(words[at], "setname") && more >= 1) {
      found.name = words[++at];
      if (!is_client_name(*found.name)) {
        refuse_client_name(to);
        return std::nullopt;
      }
    } else {
      to.out.error(std::string("ERR Syntax error in HELLO option '")
                       .append(until_zero(words[at]))
                       .append("'"));
      return std::nullopt;
    }
  }
  return found;
}

}  // namespace

namespace commands {

void auth(session& to, arguments words) {
  if (words.size() > 3) return to.refuse_syntax();
  if (words.size() == 2 && to.options().password.empty()) {
    return to.out.error(error_texts::no_password);
  }
  const std::string_view user = words.size() == 3 ? words[1] : "default";
  if (to.authenticate(user, words.back())) to.out.ok();
}

void hello(session& to, arguments words) {
  const std::optional<hello_words> found = hello_words_of(to, words);
  if (!found) return;
  if (!to.client.is_authenticated) {
    return to.out.error(error_texts::hello_without_password);
  }
  to.out.set_protocol(found->protocol);
  if (found->name) to.client.name = *found->name;
  to.out.map(7);
  to.out.bulk("server");
  to.out.bulk("redis");
  to.out.bulk("version");
  to.out.bulk(to.options().redis_version);
  to.out.bulk("proto");
  to.out.integer(found->protocol);
  to.out.bulk("id");
  to.out.integer(static_cast<std::int64_t>(to.id()));
  to.out.bulk("mode");
  to.out.bulk("standalone");
  to.out.bulk("role");
  to.out.bulk("master");
  to.out.bulk("modules");
  to.out.array(0);
}

void ping(session& to, arguments words) {
  if (words.size() > 2) return to.refuse_arity("ping");
  if (words.size() == 2) return to.out.bulk(words[1]);
  to.out.simple("PONG");
}

void echo(session& to, arguments words) { to.out.bulk(words[1]); }

void quit(session& to, arguments /*words*/) {
  to.out.ok();
  to.close();
}

void reset(session& to, arguments /*words*/) {
  to.reset();
  to.out.simple("RESET");
}

void select(session& to, arguments words) {
  if (to.accept_database(words[1])) to.out.ok();
}

}  // namespace commands

}  // namespace outlast::server::resp
