// What a process uses while it ends: a pool with a structure in it, or a store.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::test::ends {

using u64 = std::uint64_t;

/// One of the public calls, for the child of a fork. Was it refused, or has it nothing to refuse?
struct public_call {
  std::string name;
  std::function<bool()> is_refused;
};

/// Nothing is written in the destructor.
class subject {
 public:
  subject() = default;
  subject(const subject&) = delete;
  subject& operator=(const subject&) = delete;
  virtual ~subject() = default;

  /// Makes it at `path`, or opens what is there. `address`: where its pool is mapped; 0: anywhere.
  virtual void open(const std::string& path, bool make, std::uintptr_t address = 0) = 0;
  /// Survives the death of the process at return, or once keep() has returned.
  virtual void put(u64 key, u64 value) = 0;
  virtual void keep() {}
  [[nodiscard]] virtual std::optional<u64> get(u64 key) = 0;
  virtual void close() = 0;

  [[nodiscard]] virtual bool was_dirty() const { return false; }
  /// Where its pool is mapped; 0 if that cannot be chosen.
  [[nodiscard]] virtual std::uintptr_t address() const { return 0; }
  [[nodiscard]] virtual std::vector<public_call> calls() = 0;
};

/// `domain`: process, native, adr, file or logged_file.
[[nodiscard]] std::unique_ptr<subject> make_pool(std::string_view domain);
[[nodiscard]] std::unique_ptr<subject> make_table(std::string_view domain);
[[nodiscard]] std::unique_ptr<subject> make_set(std::string_view domain);
[[nodiscard]] std::unique_ptr<subject> make_map(std::string_view domain);
[[nodiscard]] std::unique_ptr<subject> make_transactions(std::string_view domain);
[[nodiscard]] std::unique_ptr<subject> make_store(std::string_view domain);

/// Of a family: pool, table, set, map, tx or store. Null for other names.
[[nodiscard]] std::unique_ptr<subject> make_subject(std::string_view family,
                                                    std::string_view domain);

}  // namespace outlast::test::ends
