// Converts a status of a store to exceptions.
#include <outlast/base/error.hpp>
#include <src/server/stored/status_errors.hpp>

#include <new>
#include <string>
#include <string_view>

namespace outlast::server::stored {

namespace {

/// Returns true if a text of the layers below is about space. Only out_of_space has a prefix; the
/// code of other exceptions is lost in a status.
bool names_space(std::string_view text) {
  for (const std::string_view part : {"no space", "No space left", "Disk quota exceeded", "no room",
                                      "make room", "RLIMIT_FSIZE"}) {
    if (text.find(part) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

void require(const db::Status& status, const std::string& path) {
  if (status.ok()) return;
  const std::string text = status.ToString();
  if (status.IsCorruption()) throw corruption(path, text);
  if (status.IsNotSupportedError()) throw error(errc::newer_version, path, text);
  if (status.IsInvalidArgument()) throw error(errc::bad_argument, path, text);
  if (text.ends_with(": out of memory")) throw std::bad_alloc();
  if (text.find(": no space: ") != std::string::npos) {
    throw out_of_space(path.empty() ? text : path + ": " + text);
  }
  throw error(names_space(text) ? errc::no_space : errc::io_failure, path, text);
}

}  // namespace outlast::server::stored
