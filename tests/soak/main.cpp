// A soak of the whole library: soak.hpp.
//
//   outlast-soak --medium memory --folder /dev/shm --seconds 1800
//   outlast-soak --medium disk --folder /var/tmp --records soak.jsonl --seed 17
//
// --families records,buffered: only these. The seed decides what each role does in each wave.
// --percent and --bytes: by how much a curve may grow. --leak BYTES: as many are lost in each wave,
// to see that they are found. Prints a table of curves. Exit status 1, and a sentence for each, if
// one has grown or something stored is lost; 2 if it could not be tried.
#include <tests/powercut/arguments.hpp>
#include <tests/soak/soak.hpp>

#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

#include <malloc.h>

namespace outlast::test::soak {
namespace {

void print(const plan& what, const result& of) {
  std::cout << what.medium << ": " << of.waves << " waves, " << static_cast<int>(of.seconds)
            << " s, seed " << what.seed << "\n\n| curve | third quarter | fourth | flat |\n"
            << "|---|---|---|---|\n";
  for (const verdict& each : of.verdicts) {
    std::cout << "| " << each.name << " | " << each.before << " | " << each.last << " | "
              << (each.is_flat ? "yes" : "NO") << " |\n";
  }
  std::cout << std::endl;
}

int soaked(const powercut::arguments& given) {
  plan what{given.text("--medium"), given.text("--folder"), given.text("--families"),
            static_cast<double>(given.number("--seconds"))};
  what.seed = given.number("--seed");
  what.leaked_bytes = given.number("--leak");
  what.allowed.share = static_cast<double>(given.number("--percent")) / 100;
  what.allowed.more = static_cast<std::int64_t>(given.number("--bytes"));
  std::ofstream records(given.text("--records"));
  if (!records) throw std::runtime_error(given.text("--records") + " cannot be written");
  const result of = run(what, records);
  print(what, of);
  int status = 0;
  for (const verdict& each : of.verdicts) {
    if (each.is_flat) continue;
    std::cout << what.medium << ": " << each.sentence << '\n';
    status = 1;
  }
  return status;
}

}  // namespace
}  // namespace outlast::test::soak

int main(int argc, char** argv) {
  using outlast::test::powercut::arguments;
  // What malloc keeps of freed memory is to be little, and the same in each wave.
  ::mallopt(M_MMAP_THRESHOLD, 128 << 10);
  ::mallopt(M_TRIM_THRESHOLD, 128 << 10);
  try {
    return outlast::test::soak::soaked(arguments(argc, argv,
                                                 {{"--medium", "memory"},
                                                  {"--folder", "/dev/shm"},
                                                  {"--families", "all"},
                                                  {"--seconds", "60"},
                                                  {"--seed", "1"},
                                                  {"--leak", "0"},
                                                  {"--percent", "5"},
                                                  {"--bytes", "1048576"},
                                                  {"--records", "/dev/null"}}));
  } catch (const outlast::test::soak::lost_content& found) {
    std::cout << found.what() << '\n';
    return 1;
  } catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 2;
  }
}
