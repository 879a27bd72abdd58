// What a program asks of a status.
#include <cstdio>
#include <string>

#include "rocksdb/status.h"
#include "rocksdb/version.h"

using rocksdb::Status;

int main(int, char**) {
  const Status all[] = {Status::OK(),
                        Status::NotFound("a", "b"),
                        Status::Corruption("a"),
                        Status::NotSupported("a"),
                        Status::InvalidArgument("a"),
                        Status::IOError("a"),
                        Status::MergeInProgress("a"),
                        Status::Incomplete("a"),
                        Status::ShutdownInProgress("a"),
                        Status::TimedOut("a"),
                        Status::Aborted("a"),
                        Status::Busy("a"),
                        Status::Expired("a"),
                        Status::TryAgain("a"),
                        Status::CompactionTooLarge("a"),
                        Status::ColumnFamilyDropped("a")};
  for (const Status& each : all) {
    std::printf("%s, %d, %d, %s\n", each.ToString().c_str(), static_cast<int>(each.code()),
                static_cast<int>(each.subcode()), each.getState() ? each.getState() : "-");
  }
  const Status full = Status::NoSpace("a");
  const Status limit = Status::MemoryLimit("a");
  const Status path = Status::PathNotFound("a");
  std::printf("%d %d %d\n", full.IsNoSpace(), full.IsIOError(), full.IsNotFound());
  std::printf("%d %d\n", limit.IsMemoryLimit(), limit.IsAborted());
  std::printf("%d %d\n", path.IsPathNotFound(), path.IsIOError());
  std::printf("%d %d %d\n", full.subcode() == Status::kNoSpace,
              limit.subcode() == Status::kMemoryLimit, path.subcode() == Status::kPathNotFound);
  Status copy = all[1];
  Status moved = std::move(copy);
  std::printf("%d %d\n", moved == all[1], moved != Status::NotFound());
  std::printf("%s|%s\n", Status::NotFound().ToString().c_str(), Status().ToString().c_str());
  std::printf("%d\n", static_cast<int>(all[1].severity()));
  switch (all[2].code()) {
    case Status::Code::kCorruption: std::printf("corruption\n"); break;
    default: std::printf("another\n");
  }
  std::printf("%d %d\n", ROCKSDB_MAJOR, ROCKSDB_MINOR);
  std::printf("%s\n", rocksdb::GetRocksVersionAsString(false).c_str());
  return 0;
}
