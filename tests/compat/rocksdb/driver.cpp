// Runs one of the programs that are linked together: driver NAME DIRECTORY.
#include <cstdio>
#include <cstring>

#define PROGRAMS(one)                                                                    \
  one(batches) one(counters) one(edges) one(environment) one(families) one(iterators)    \
      one(multiget) one(orders) one(properties) one(quickstart) one(ranges) one(reading) \
          one(settings) one(slices) one(snapshots) one(statuses) one(tuning)

#define DECLARE(name) int name##_program(int, char**);
PROGRAMS(DECLARE)

int main(int argc, char** argv) {
  if (argc != 3) return 2;
#define CALL(name) \
  if (std::strcmp(argv[1], #name) == 0) return name##_program(argc - 1, argv + 1);
  PROGRAMS(CALL)
  std::fprintf(stderr, "no such program: %s\n", argv[1]);
  return 2;
}
