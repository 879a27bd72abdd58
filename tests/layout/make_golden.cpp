// Makes the golden pools, as files in a directory: make_golden DIRECTORY. `make golden` packs them.
//
// Of each family two: one that was closed, and one whose process was killed. Their addresses and
// boots are always the same.
#include <tests/layout/families.hpp>
#include <tests/layout/served.hpp>

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

/// The caches and stores of servers.
void make_served(const std::filesystem::path& folder, std::uintptr_t address) {
  for (const bool is_closed : {true, false}) {
    pool_options options;
    options.size_bytes = 4 << 20;
    options.base_address = address;
    const std::string name = std::string("served-cache-") + (is_closed ? "closed" : "killed");
    auto made = pool::create((folder / (name + ".pool")).string(), options);
    fill_served_cache(made);
    if (content_of_served_cache(made) != filled_served_cache) {
      throw std::runtime_error(name + " has " + content_of_served_cache(made));
    }
    if (is_closed) made.close();
    address += std::uintptr_t{1} << 32;
  }
  for (const bool has_parts : {false, true}) {
    const std::filesystem::path store = folder / "store";
    fill_served_store(store.string(), has_parts);
    const std::string content = content_of_served_store(store.string());
    if (content != (has_parts ? filled_served_store_2 : filled_served_store_1)) {
      throw std::runtime_error("the store of a server has " + content);
    }
    const std::string name = std::string("served-store-") + (has_parts ? "2" : "1");
    std::filesystem::rename(store / "store.pool", folder / (name + "-closed.pool"));
    std::filesystem::remove_all(store);
  }
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
  make_served(folder, address);
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
