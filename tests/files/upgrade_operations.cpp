// `outlast upgrade FILE`, by the command itself.
#include <tests/files/operation.hpp>

#include <apps/commands.hpp>
#include <outlast/pool/check.hpp>
#include <outlast/pool/pool.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>

namespace outlast::test::files {
namespace {

class upgrade_operation final : public operation {
 public:
  [[nodiscard]] std::string name() const override { return "upgrade a pool"; }

  void prepare(const std::string& root) override {
    put_foreign_file(root + "/notes");
    pool_options wanted;
    wanted.size_bytes = std::size_t{1} << 20;
    wanted.capacity_bytes = std::size_t{3} << 20;  // its descriptors are copied to the end
    wanted.format_version = 1;
    wanted.file_mode = 0600;
    pool made = pool::create(root + "/p", wanted);
    const attached_root kept = made.attach_root("kept", "bytes", 1, true);
    void* const object =
        made.pages().allocate_run(pool_format::run_kind::large, kept.index, 1, 1, kept_bytes);
    std::memset(object, kept_byte, kept_bytes);
    made.publish_root(kept.index, object);
    made.detach_root(kept.index, false);
    made.close();
  }

  std::string run(const std::string& root) override {
    std::ostringstream said;
    std::streambuf* const errors = std::cerr.rdbuf(said.rdbuf());
    std::streambuf* const output = std::cout.rdbuf(said.rdbuf());
    std::string failure;
    try {
      CLI::App tool;
      apps::add_upgrade(tool);
      tool.parse("upgrade " + root + "/p", false);
    } catch (const std::exception& thrown) {
      failure = said.str() + thrown.what();
    }
    std::cerr.rdbuf(errors);
    std::cout.rdbuf(output);
    return failure;
  }

  std::string check(const std::string& root, const end_of_incarnation&) override {
    std::string wrong = check_pool(root + "/p");
    if (!wrong.empty()) return wrong;
    wrong = run(root);
    if (!wrong.empty()) return "a second upgrade fails: " + wrong;
    wrong = check_pool(root + "/p");
    if (!wrong.empty()) return "after a second upgrade " + wrong;
    const std::string left = check_names(root, {"notes", "p"});
    return left.empty() ? check_foreign_file(root + "/notes") : left;
  }

 private:
  static constexpr std::size_t kept_bytes = pool_format::page_bytes;
  static constexpr int kept_byte = 0x5a;

  /// Returns what is wrong with the pool, which is of either version, or "".
  static std::string check_pool(const std::string& path) {
    for (const pool_format::finding& one : pool_format::check_file(path)) {
      if (one.level == pool_format::severity::error) return one.sentence;
    }
    pool again = pool::open(path);
    if (again.was_dirty()) return "the pool that was closed is not clean";
    const attached_root kept = again.attach_root("kept", "bytes", 1, true);
    if (kept.object_offset == 0) return "the root is missing";
    const auto* const bytes = reinterpret_cast<const char*>(again.base() + kept.object_offset);
    if (std::count(bytes, bytes + kept_bytes, kept_byte) != std::ptrdiff_t{kept_bytes}) {
      return "the root has other bytes";
    }
    again.root_relocated(kept.index);
    again.detach_root(kept.index, false);
    again.close();
    return "";
  }
};

}  // namespace

operations upgrade_operations() {
  operations all;
  all.push_back(std::make_unique<upgrade_operation>());
  return all;
}

}  // namespace outlast::test::files
