// Status: the codes, and the text of an error.
#include <outlast/db/status.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

namespace OUTLAST_DB_NAMESPACE {

namespace {

constexpr std::size_t before_text = 5;

std::uint32_t text_bytes(const char* state) {
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, state, sizeof(bytes));
  return bytes;
}

}  // namespace

Status::Status(Code code, const Slice& msg, const Slice& msg2) {
  std::string text = msg.ToString();
  if (!msg2.empty()) text.append(": ").append(msg2.view());
  constexpr std::size_t max_bytes = std::numeric_limits<std::uint32_t>::max();
  if (text.size() > max_bytes) text.resize(max_bytes);
  const auto bytes = static_cast<std::uint32_t>(text.size());
  char* const state = new char[before_text + bytes];
  std::memcpy(state, &bytes, sizeof(bytes));
  state[4] = static_cast<char>(code);
  text.copy(state + before_text, bytes);
  state_ = state;
}

const char* Status::CopyState(const char* state) {
  const std::size_t bytes = before_text + text_bytes(state);
  char* const copy = new char[bytes];
  std::memcpy(copy, state, bytes);
  return copy;
}

std::string Status::ToString() const {
  std::string_view kind = "OK";
  switch (code()) {
    case kOk: return "OK";
    case kNotFound: kind = "NotFound: "; break;
    case kCorruption: kind = "Corruption: "; break;
    case kNotSupported: kind = "Not implemented: "; break;
    case kInvalidArgument: kind = "Invalid argument: "; break;
    case kIOError: kind = "IO error: "; break;
  }
  return std::string(kind).append(state_ + before_text, text_bytes(state_));
}

}  // namespace OUTLAST_DB_NAMESPACE
