// A program that knows Outlast only as an installed package.
#include <outlast/base/error.hpp>
#include <outlast/domain.hpp>
#include <outlast/hw/flush.hpp>

#include <cstdint>
#include <iostream>

int main() {
  using domain = outlast::domain::counting<outlast::domain::process>;
  static std::uint64_t word = 0;
  const std::uint64_t value = 42;
  domain::write(&word, &value, sizeof word);
  outlast::domain::persist<domain>(&word, sizeof word);
  const outlast::error failure(outlast::errc::forked, "", "not really");
  if (word != 42 || failure.code() != outlast::errc::forked) return 1;
  const auto instruction = outlast::hw::chosen_flush_instruction();
  std::cout << "outlast as a guest: " << outlast::hw::name_of(instruction) << '\n';
  return 0;
}
