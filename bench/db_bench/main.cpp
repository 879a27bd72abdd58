// db_bench: drives a store of keys and values as LevelDB's program of that name does.
//
//   db_bench --benchmarks=fillrandom,readrandom,readwhilewriting --db=/dev/shm/store --sync
//   db_bench --engine=leveldb --benchmarks=ycsbload,ycsba,ycsbe --threads=2 --histogram
#include <bench/db_bench/driver.hpp>
#include <bench/db_bench/flags.hpp>

#include <exception>
#include <iostream>

int main(int argc, char** argv) {
  namespace bench = outlast::bench;
  try {
    const bench::parsed_flags parsed = bench::parse_flags(argc, argv);
    if (!parsed.settings) return parsed.status;
    const bench::store_settings& settings = *parsed.settings;
    const bench::engine& engine = bench::find_engine(settings.engine);
    if (!settings.json) bench::print_heading(std::cout, settings, engine);
    bench::driver all(
        settings,
        [&](const bench::outcome& of) {
          if (settings.json) {
            std::cout << bench::to_json(of, settings, engine) << std::endl;
          } else {
            bench::print_outcome(std::cout, of);
          }
        },
        [&](std::string_view text) {
          if (!settings.json) std::cout << text << std::endl;
        });
    for (const std::string& name : settings.benchmarks) all.run(name);
    return 0;
  } catch (const std::exception& failure) {
    std::cerr << "db_bench: " << failure.what() << '\n';
    return 1;
  }
}
