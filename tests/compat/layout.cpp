// Goal: a program that was compiled with LevelDB's headers finds members where it looks for them.
// Method: prints sizes, offsets and places in tables of virtual functions; compiled with Debian's
// headers and with ours it prints the same.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "leveldb/cache.h"
#include "leveldb/comparator.h"
#include "leveldb/db.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "leveldb/iterator.h"
#include "leveldb/options.h"
#include "leveldb/slice.h"
#include "leveldb/status.h"
#include "leveldb/table.h"
#include "leveldb/table_builder.h"
#include "leveldb/write_batch.h"

namespace {

using namespace leveldb;

void print(const char* what, std::size_t number) { std::printf("%s %zu\n", what, number); }

/// Of a virtual function: where it is in the table, in the first word of a pointer to it.
template <class Function>
std::size_t place_of(Function function) {
  std::size_t place = 0;
  std::memcpy(&place, &function, sizeof place);
  return place;
}

#define SIZE(type) print(#type, sizeof(type))
#define OFFSET(type, member) print(#type "." #member, offsetof(type, member))
#define PLACE(type, member) print(#type "::" #member, place_of(&type::member))

void print_sizes() {
  SIZE(Cache);
  SIZE(Comparator);
  SIZE(DB);
  SIZE(Env);
  SIZE(EnvWrapper);
  SIZE(FileLock);
  SIZE(FilterPolicy);
  SIZE(Iterator);
  SIZE(Logger);
  SIZE(Options);
  SIZE(RandomAccessFile);
  SIZE(Range);
  SIZE(ReadOptions);
  SIZE(SequentialFile);
  SIZE(Slice);
  SIZE(Snapshot);
  SIZE(Status);
  SIZE(Table);
  SIZE(TableBuilder);
  SIZE(WritableFile);
  SIZE(WriteBatch);
  SIZE(WriteBatch::Handler);
  SIZE(WriteOptions);
}

void print_offsets() {
  OFFSET(Options, comparator);
  OFFSET(Options, create_if_missing);
  OFFSET(Options, error_if_exists);
  OFFSET(Options, paranoid_checks);
  OFFSET(Options, env);
  OFFSET(Options, info_log);
  OFFSET(Options, write_buffer_size);
  OFFSET(Options, max_open_files);
  OFFSET(Options, block_cache);
  OFFSET(Options, block_size);
  OFFSET(Options, block_restart_interval);
  OFFSET(Options, max_file_size);
  OFFSET(Options, compression);
  OFFSET(Options, reuse_logs);
  OFFSET(Options, filter_policy);
  OFFSET(ReadOptions, verify_checksums);
  OFFSET(ReadOptions, fill_cache);
  OFFSET(ReadOptions, snapshot);
  OFFSET(WriteOptions, sync);
  OFFSET(Range, start);
  OFFSET(Range, limit);
}

void print_places_of_stores() {
  PLACE(DB, Put);
  PLACE(DB, Delete);
  PLACE(DB, Write);
  PLACE(DB, Get);
  PLACE(DB, NewIterator);
  PLACE(DB, GetSnapshot);
  PLACE(DB, ReleaseSnapshot);
  PLACE(DB, GetProperty);
  PLACE(DB, GetApproximateSizes);
  PLACE(DB, CompactRange);
  PLACE(Iterator, Valid);
  PLACE(Iterator, SeekToFirst);
  PLACE(Iterator, SeekToLast);
  PLACE(Iterator, Seek);
  PLACE(Iterator, Next);
  PLACE(Iterator, Prev);
  PLACE(Iterator, key);
  PLACE(Iterator, value);
  PLACE(Iterator, status);
  PLACE(WriteBatch::Handler, Put);
  PLACE(WriteBatch::Handler, Delete);
  PLACE(Comparator, Compare);
  PLACE(Comparator, Name);
  PLACE(Comparator, FindShortestSeparator);
  PLACE(Comparator, FindShortSuccessor);
  PLACE(FilterPolicy, Name);
  PLACE(FilterPolicy, CreateFilter);
  PLACE(FilterPolicy, KeyMayMatch);
  PLACE(Cache, Insert);
  PLACE(Cache, Lookup);
  PLACE(Cache, Release);
  PLACE(Cache, Value);
  PLACE(Cache, Erase);
  PLACE(Cache, NewId);
  PLACE(Cache, Prune);
  PLACE(Cache, TotalCharge);
}

void print_places_of_envs() {
  PLACE(Env, NewSequentialFile);
  PLACE(Env, NewRandomAccessFile);
  PLACE(Env, NewWritableFile);
  PLACE(Env, NewAppendableFile);
  PLACE(Env, FileExists);
  PLACE(Env, GetChildren);
  PLACE(Env, RemoveFile);
  PLACE(Env, DeleteFile);
  PLACE(Env, CreateDir);
  PLACE(Env, RemoveDir);
  PLACE(Env, DeleteDir);
  PLACE(Env, GetFileSize);
  PLACE(Env, RenameFile);
  PLACE(Env, LockFile);
  PLACE(Env, UnlockFile);
  PLACE(Env, Schedule);
  PLACE(Env, StartThread);
  PLACE(Env, GetTestDirectory);
  PLACE(Env, NewLogger);
  PLACE(Env, NowMicros);
  PLACE(Env, SleepForMicroseconds);
  PLACE(SequentialFile, Read);
  PLACE(SequentialFile, Skip);
  PLACE(RandomAccessFile, Read);
  PLACE(WritableFile, Append);
  PLACE(WritableFile, Close);
  PLACE(WritableFile, Flush);
  PLACE(WritableFile, Sync);
  PLACE(Logger, Logv);
}

}  // namespace

int main() {
  print_sizes();
  print_offsets();
  print_places_of_stores();
  print_places_of_envs();
}
