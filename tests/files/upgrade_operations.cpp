// `outlast upgrade FILE`, by the command itself.
#include <tests/files/operation.hpp>

#include <apps/commands.hpp>
#include <outlast/pool/pool.hpp>

#include <CLI/CLI.hpp>

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
    wanted.file_mode = 0600;
    pool::create(root + "/p", wanted).close();
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
    const std::string wrong = run(root);
    if (!wrong.empty()) return "a second upgrade fails: " + wrong;
    pool again = pool::open(root + "/p");
    if (again.was_dirty()) return "the pool that was closed is not clean";
    again.close();
    const std::string left = check_names(root, {"notes", "p"});
    return left.empty() ? check_foreign_file(root + "/notes") : left;
  }
};

}  // namespace

operations upgrade_operations() {
  operations all;
  all.push_back(std::make_unique<upgrade_operation>());
  return all;
}

}  // namespace outlast::test::files
