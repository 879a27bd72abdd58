// The conversion of a fuzzer's bytes into a corrupted pool.
//
// A pool has tens of thousands of bytes, nearly all zero, and checksums in front of everything: a
// fuzzer that mutates the file itself sees little but "the checksum does not match". So an input is
// a recipe: which good pool to begin with, how to open it, and a list of edits, 12 bytes each, that
// name what they change by its place in the format. Where the recipe says so, the checksums are
// computed anew after the edits, and the fuzzer gets behind them.
//
//   byte 0      seed, modulo their number
//   byte 1      flags, see below
//   byte 2      signed: the file is that many times 512 bytes longer or shorter
//   byte 3      chooses the keys of the operations
//   from 4      edits: place (1), change (1), index (2), value (8), little-endian
//
// With the flag `raw` the bytes from 4 on stand at the start of the file instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace outlast::fuzz {

/// What an edit changes. `index` counts words of 8 bytes in it, unless said otherwise.
enum class place : std::uint8_t {
  header,       ///< the static header
  state,        ///< both state slots, 8 words each
  root,         ///< the root table: 32 words an entry
  region,       ///< the region table: 16 words an entry
  line,         ///< the line table: 8 words a page
  data,         ///< everything behind the tables
  anywhere,     ///< the whole file
  run,          ///< the word of page line `index`, from a value that is made to look like one
  header_half,  ///< the static header in words of 4 bytes
  first_lines,  ///< the words of the lines of the first pages behind the tables
  count,
};

/// What becomes of the word.
enum class change : std::uint8_t {
  set,       ///< the value
  flip,      ///< exclusive or
  add,       ///< the sum
  bit,       ///< one bit flipped
  pointer,   ///< an address in the pool where it was made, two marks included
  offset,    ///< an offset in the pool, a multiple of 8
  constant,  ///< a number that the format knows
  copy,      ///< another word of the file
  count,
};

/// One decoded edit.
struct edit {
  place where;
  change how;
  std::uint16_t index;
  std::uint64_t value;
};

/// One decoded input.
struct recipe {
  std::size_t seed = 0;
  bool seal = false;       ///< compute the checksums anew
  bool in_file = false;    ///< open a file, not memory
  bool elsewhere = false;  ///< where the pointers do not lead
  bool recover = false;    ///< no saved occupancy is valid: every root is recovered
  bool salvage = false;
  bool other_boot = false;
  bool drop = false;  ///< drop the roots after use
  std::int8_t longer = 0;
  std::uint8_t keys = 0;
  std::vector<edit> edits;
  std::vector<std::byte> raw;

  /// The pool is what the library made: nothing in it contradicts anything.
  [[nodiscard]] bool untouched() const noexcept { return edits.empty() && raw.empty(); }
};

/// Accepts any bytes.
[[nodiscard]] recipe decode(std::span<const std::uint8_t> bytes);

/// The file that the recipe describes, aligned to a page. Valid until the next call.
[[nodiscard]] std::span<const std::byte> prepare(const recipe& input);

}  // namespace outlast::fuzz
