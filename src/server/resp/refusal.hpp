// The end of a command that has no effect.
#pragma once

#include <outlast/server/items.hpp>

#include <src/server/resp/error_texts.hpp>

#include <exception>
#include <string>
#include <utility>

namespace outlast::server::resp {

/// An error reply. A command throws it, also inside a call of the space, which then has no effect.
class refusal : public std::exception {
 public:
  explicit refusal(std::string text) : text_(std::move(text)) {}
  explicit refusal(std::string_view text) : text_(text) {}
  explicit refusal(const char* text) : text_(text) {}
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

/// Throws a refusal if the item has another type.
inline void require_type(const item& of, item_type wanted) {
  if (of.type != static_cast<std::uint8_t>(wanted)) throw refusal(error_texts::wrong_type);
}

}  // namespace outlast::server::resp
