// What a soak works on: a pool with structures of all families, and two stores: one of replicas and
// one of records.
#pragma once

#include <tests/soak/measure.hpp>
#include <tests/soak/subject.hpp>

#include <filesystem>
#include <memory>
#include <string>

namespace outlast::test::soak {

class world {
 public:
  world() = default;
  world(const world&) = delete;
  world& operator=(const world&) = delete;
  virtual ~world() = default;

  [[nodiscard]] virtual subjects& content() = 0;
  /// What pool and stores take.
  [[nodiscard]] virtual sample files() = 0;
  /// Returns the properties of the stores.
  [[nodiscard]] virtual sample stores() = 0;
  /// What survives what, by the pool's own words.
  [[nodiscard]] virtual std::string guarantee() const = 0;
  virtual void close() = 0;
};

/// `medium`: `memory`, where the pool finds out its domain, or `disk`, where that is logged_file.
/// Files are made in `folder`, which is there. `families`: which of lockfree, sets, buffered,
/// transactions, store, records and passing, or all. Throws std::invalid_argument for another
/// medium.
[[nodiscard]] std::unique_ptr<world> make_world(const std::string& medium,
                                                const std::filesystem::path& folder,
                                                const std::string& families);

}  // namespace outlast::test::soak
