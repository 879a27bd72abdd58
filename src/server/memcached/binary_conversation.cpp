// Cuts the bytes of a connection into requests of the binary protocol.
#include <src/server/memcached/binary_conversation.hpp>
#include <src/server/memcached/text.hpp>

#include <algorithm>

namespace outlast::server::memcached {

namespace {

/// Maximum length of the message of an authentication. A longer one fails.
constexpr std::size_t max_message_bytes = 4096;

}  // namespace

fed binary_conversation::feed(std::string_view bytes, std::int64_t now_ms, std::string& replies) {
  begin_call(now_ms, replies);
  std::size_t at = 0;
  while (!result_.closes && at < bytes.size()) {
    at += take(bytes.substr(at));
    if (replies_are_long() && at < bytes.size()) {
      result_.pauses = true;
      break;
    }
  }
  if (result_.closes) result_.pauses = false;
  return end_call(result_.closes ? bytes.size() : at);
}

/// Takes bytes of the current part of a request, and of the parts after it that have none. Returns
/// their number, which is not 0.
std::size_t binary_conversation::take(std::string_view bytes) {
  const std::size_t size = bytes.size();
  switch (phase_) {
    case phase::head:
      if (kept_.empty() && bytes.front() != request_magic) {
        result_.closes = true;
        return size;
      }
      gather(bytes, request_head_bytes, [this](std::string_view head) { run_head(head); });
      break;
    case phase::front:
      gather(bytes, head_.front_bytes(), [this](std::string_view front) { run_front(front); });
      break;
    case phase::value:
      gather(bytes, head_.value_bytes(), [this](std::string_view value) { run_value(value); });
      break;
    case phase::swallow: {
      const std::size_t taken = std::min(left_, bytes.size());
      bytes.remove_prefix(taken);
      swallow(left_ - taken);
      break;
    }
  }
  return size - bytes.size();
}

/// Removes up to `needed` bytes from `bytes`, and calls `use` when all of them have arrived. Stores
/// no more than has arrived.
template <class Use>
void binary_conversation::gather(std::string_view& bytes, std::size_t needed, Use&& use) {
  if (kept_.empty() && bytes.size() >= needed) {
    const std::string_view all = bytes.substr(0, needed);
    bytes.remove_prefix(needed);
    return use(all);
  }
  const std::size_t taken = std::min(bytes.size(), needed - kept_.size());
  kept_.append(bytes.substr(0, taken));
  bytes.remove_prefix(taken);
  if (kept_.size() < needed) return;
  use(kept_);
  forget(kept_);
}

void binary_conversation::run_head(std::string_view head) {
  head_ = head_of(head);
  info_ = info_of(head_.opcode);
  const auto refuse = [this](status why) {
    reply(why);
    result_.closes = true;
  };
  if (head_.front_bytes() > head_.body_bytes) return refuse(status::unknown_command);
  const bool is_permitted = info_.command == binary_command::version ||
                            info_.command == binary_command::list_mechanisms ||
                            info_.command == binary_command::authenticate;
  if (!is_authenticated_ && !is_permitted) return refuse(status::unauthenticated);
  if (!has_form_of(head_, info_)) return refuse(status::invalid);
  const bool authenticates = info_.command == binary_command::list_mechanisms ||
                             info_.command == binary_command::authenticate;
  if (info_.command == binary_command::unknown || (authenticates && options_.password.empty())) {
    reply(status::unknown_command);
    return swallow(head_.body_bytes);
  }
  phase_ = phase::front;
  if (head_.front_bytes() == 0) run_front({});
}

void binary_conversation::run_front(std::string_view front) {
  phase_ = phase::head;
  front.copy(front_.data(), front_.size());
  if (info_.command == binary_command::store || info_.command == binary_command::authenticate) {
    expect_value();
  } else {
    run_guarded([this] { execute(); });
  }
}

/// Lets the next bytes be the value of the request, or discards them if they are too many.
void binary_conversation::expect_value() {
  const std::size_t size = head_.value_bytes();
  if (info_.command == binary_command::authenticate) {
    if (size > max_message_bytes) {
      reply(status::unauthenticated);
      return swallow(size);
    }
  } else {
    request_ = {.mode = info_.mode};
    if (head_.extras_bytes != 0) {
      request_.flags = extra<std::uint32_t>(0);
      request_.expires_ms = expiry_at(4);
    }
    if (item_bytes(key(), size, request_.flags) > options_.max_item_bytes) {
      swallow(size);
      count(event::store_too_large);
      run_guarded([this] {
        // The client wanted to replace the item: the old value must not be served.
        if (info_.mode == store_mode::set) remove_outdated(key());
        reply(status::too_large);
      });
      return;
    }
    const bool extends = info_.mode == store_mode::append || info_.mode == store_mode::prepend;
    if (head_.unique != 0) {
      request_.expected = head_.unique;
      // As in memcached, only the number decides then.
      if (!extends) request_.mode = store_mode::set;
    }
  }
  phase_ = phase::value;
  if (size == 0) run_value({});
}

void binary_conversation::run_value(std::string_view value) {
  phase_ = phase::head;
  run_guarded(
      [&] { info_.command == binary_command::store ? run_store(value) : run_authenticate(value); });
}

/// Does the work of a command. Replaces its replies by an error if it fails.
template <class Work>
void binary_conversation::run_guarded(Work&& work) {
  guarded(work, [this](failure_kind kind, std::string_view text) {
    out_->resize(mark_);
    switch (kind) {
      case failure_kind::no_memory: return reply(status::no_memory);
      case failure_kind::collection: return reply({.result = status::not_supported, .value = text});
      case failure_kind::other: return reply({.result = status::internal_error, .value = text});
    }
  });
}

std::int64_t binary_conversation::expiry_at(std::size_t at) const noexcept {
  return unsigned_expiry_of(extra<std::uint32_t>(at), now_ms_);
}

}  // namespace outlast::server::memcached
