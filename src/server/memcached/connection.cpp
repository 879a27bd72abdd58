// The first byte of a connection chooses memcached's text or binary protocol.
#include <src/server/memcached/binary_conversation.hpp>
#include <src/server/memcached/text_conversation.hpp>
#include <src/server/memcached/text_login.hpp>

#include <optional>

namespace outlast::server {

namespace memcached {

namespace {

/// Chooses the protocol, and counts the connection while it exists. A client of the text protocol
/// begins with the password, if there is one. The binary protocol has commands for it.
class choosing_conversation final : public conversation {
 public:
  choosing_conversation(item_space& space, const memcached_options& options,
                        memcached_counters& counters)
      : space_(space), options_(options), counters_(counters) {
    counters_.connection_begins();
  }
  ~choosing_conversation() override { counters_.connection_ends(); }
  choosing_conversation(const choosing_conversation&) = delete;
  choosing_conversation& operator=(const choosing_conversation&) = delete;

  fed feed(std::string_view bytes, std::int64_t now_ms, std::string& replies) override {
    if (login_) return log_in(bytes, now_ms, replies);
    if (chosen_ == nullptr) {
      if (bytes.empty()) return {};
      if (bytes.front() == request_magic) {
        chosen_ = std::make_unique<binary_conversation>(space_, options_, counters_);
      } else if (options_.password.empty()) {
        chosen_ = std::make_unique<text_conversation>(space_, options_, counters_);
      } else {
        login_.emplace(options_);
        return log_in(bytes, now_ms, replies);
      }
    }
    return chosen_->feed(bytes, now_ms, replies);
  }

 private:
  fed log_in(std::string_view bytes, std::int64_t now_ms, std::string& replies) {
    const fed done = login_->feed(bytes, replies);
    if (!login_->has_succeeded()) return done;
    chosen_ = std::make_unique<text_conversation>(space_, options_, counters_);
    login_.reset();
    if (done.taken == bytes.size()) return done;
    fed rest = chosen_->feed(bytes.substr(done.taken), now_ms, replies);
    rest.taken += done.taken;
    return rest;
  }

  item_space& space_;
  const memcached_options& options_;
  memcached_counters& counters_;
  std::optional<text_login> login_;
  std::unique_ptr<conversation> chosen_;
};

}  // namespace

}  // namespace memcached

std::unique_ptr<conversation> make_memcached_conversation(item_space& space,
                                                          const memcached_options& options,
                                                          memcached_counters& counters) {
  return std::make_unique<memcached::choosing_conversation>(space, options, counters);
}

}  // namespace outlast::server
