// Slices, and those that keep their bytes.
#include <cstdio>
#include <string>
#include <utility>

#include "rocksdb/slice.h"

using rocksdb::PinnableSlice;
using rocksdb::Slice;
using rocksdb::SliceParts;

int main(int, char**) {
  Slice slice("hello world", 11);
  std::printf("%d %d %d\n", slice.starts_with("hello"), slice.ends_with("world"),
              slice.ends_with("longer than the slice"));
  std::printf("%zu %d\n", slice.difference_offset("hello there"), slice.compare("hello") > 0);
  slice.remove_prefix(6);
  slice.remove_suffix(2);
  std::printf("%s %s\n", slice.ToString().c_str(), slice.ToString(true).c_str());
  std::string text;
  std::printf("%d\n", Slice("776F72").DecodeHex(&text));
  std::printf("%s\n", text.c_str());
  std::printf("%d %d\n", Slice("776").DecodeHex(&text), Slice("7x").DecodeHex(&text));
  const char* const null = nullptr;
  std::printf("%zu %d\n", Slice(null).size(), Slice() == Slice(""));
  std::printf("%d %d\n", Slice("a\0b", 3) == Slice("a"), Slice("b") != Slice("c"));
  const Slice parts[] = {"one", "", "two"};
  std::string whole;
  std::printf("%s\n", Slice(SliceParts(parts, 3), &whole).ToString().c_str());

  PinnableSlice own;
  own.PinSelf("kept here");
  std::printf("%s %d\n", own.ToString().c_str(), own.IsPinned());
  own.remove_prefix(5);
  own.remove_suffix(1);
  std::printf("%s\n", own.ToString().c_str());
  PinnableSlice moved(std::move(own));
  std::printf("%s\n", moved.ToString().c_str());
  *moved.GetSelf() = "a text that is too long for a short string";
  moved.PinSelf();
  own = std::move(moved);
  std::printf("%s\n", own.ToString().c_str());
  int released = 0;
  {
    PinnableSlice pinned;
    pinned.PinSlice(
        Slice("pinned"), [](void* n, void*) { ++*static_cast<int*>(n); }, &released, nullptr);
    std::printf("%s %d %d\n", pinned.ToString().c_str(), pinned.IsPinned(), released);
    PinnableSlice other(std::move(pinned));
    std::printf("%s %d %d\n", other.ToString().c_str(), other.IsPinned(), released);
    other.Reset();
    std::printf("%zu %d %d\n", other.size(), other.IsPinned(), released);
  }
  std::printf("%d\n", released);
  std::string buffer = "outside";
  PinnableSlice outside(&buffer);
  outside.PinSelf();
  std::printf("%s %d\n", outside.ToString().c_str(), outside.GetSelf() == &buffer);
  return 0;
}
