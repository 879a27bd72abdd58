// LevelDB as it is installed, or nothing.
#pragma once

#include <tests/db/steps.hpp>

#include <memory>
#include <optional>
#include <string>

namespace outlast::test {

class leveldb_peer {
 public:
  /// Was it there when this was compiled?
  [[nodiscard]] static bool is_there() noexcept;

  /// A new store in `folder`, whose old one is gone, with this content.
  leveldb_peer(const std::string& folder, bool is_reversed, const db_steps::content& from);
  ~leveldb_peer();
  leveldb_peer(const leveldb_peer&) = delete;
  leveldb_peer& operator=(const leveldb_peer&) = delete;

  /// Nothing if it is not there.
  std::optional<std::string> apply(const db_steps::step& todo);

 private:
  struct inside;
  std::unique_ptr<inside> in_;
};

}  // namespace outlast::test
