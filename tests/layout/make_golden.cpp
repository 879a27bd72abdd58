// Makes the golden pools, as files in a directory: make_golden DIRECTORY. `make golden` packs them.
//
// Of each family two: one that was closed, and one whose process was killed. Their addresses and
// boots are always the same.
#include <tests/layout/families.hpp>

#include <outlast/pool/file/test_hooks.hpp>

#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>

namespace outlast::test {
namespace {

void make_pool(const std::string& path, const family& of, bool is_closed, std::uintptr_t address) {
  pool_options options;
  options.size_bytes = 4 << 20;
  options.capacity_bytes = 8 << 20;
  options.base_address = address;
  auto made = pool::create(path, options);
  of.fill(made);
  if (of.content(made) != of.filled) {
    throw std::runtime_error(path + " holds " + of.content(made));
  }
  if (is_closed) made.close();
}

void make_all(const std::filesystem::path& folder) {
  std::uintptr_t address = 0x5530'0000'0000;
  for (const family& of : families()) {
    for (const bool is_closed : {true, false}) {
      const std::string name = std::string(of.name) + (is_closed ? "-closed" : "-killed");
      make_pool((folder / (name + ".pool")).string(), of, is_closed, address);
      address += std::uintptr_t{1} << 32;
    }
  }
  const std::filesystem::path store = folder / "store";
  fill_store(store.string());
  if (content_of_store(store.string()) != filled_store) throw std::runtime_error("another store");
  std::filesystem::rename(store / "store.pool", folder / "store-closed.pool");
  std::filesystem::remove_all(store);
}

}  // namespace
}  // namespace outlast::test

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: make_golden DIRECTORY\n";
    return 2;
  }
  try {
    outlast::pool_detail::test_hooks().boot = outlast::test::golden_boot;
    outlast::test::make_all(argv[1]);
    return 0;
  } catch (const std::exception& why) {
    std::cerr << "make_golden: " << why.what() << '\n';
    return 1;
  }
}
