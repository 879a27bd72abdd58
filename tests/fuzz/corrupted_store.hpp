// Stores with corrupted files, and the calls that they must survive.
//
// Few words of a store's files matter to the code that opens and changes it, so an edit names what
// it changes by its part of the format: spot. The offsets of these are found in the good files.
//
//   byte 0      0x1f: the good store, of replicas below 16 and above 29; 30 and 31 are behind a
//               log, where all takes ten times as long; from 24 to 29 of records on a disk; the
//               others are in memory; 0x80: it is opened with paranoid_checks, 0x40: it is copied
//               when it was used, 0x20: it is not repaired
//   from 1      edits: spot (1), change (1), index (2), value (8), little-endian; with 0x80 in the
//               change of a store of records the checks are right afterwards
#pragma once

#include <tests/fuzz/exercise.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::fuzz {

/// What an edit changes: `index` counts words of 8 bytes in it.
enum class spot : std::uint8_t {
  any,          ///< all that is not zero
  heap_header,  ///< of replicas
  page_states,  ///< of their pages that were in use
  tree_pages,   ///< blocks as large as pages of the store's tree
  block_heads,  ///< the first words of all blocks: links, sizes, moments
  log,          ///< the file of the log
  // Of records:
  segment_headers,
  record_heads,  ///< the first words of records and batches, without their keys
  record_bytes,  ///< all words of records and batches
  marks,         ///< of a store on a disk
  store_header,
  tables,  ///< of the pool: all before its pages that is not zero
  count,
};

/// What becomes of the word.
enum class word_change : std::uint8_t {
  set,   ///< the value
  flip,  ///< exclusive or
  add,   ///< the sum
  low,   ///< its lower half is that of the value
  high,  ///< its upper half is the lower one of the value
  copy,  ///< what another word of the spot is, the one that the value counts
  count,
};

struct store_edit {
  spot where;
  word_change how;
  std::uint16_t index;
  std::uint64_t value;
  /// The checks of the changed part are computed again, so that it seems to be intact. Of a record
  /// only the age and the version differ then: what is read was written at some time.
  bool is_checked = false;
};

/// A corrupted store.
struct store_recipe {
  std::size_t good = 0;
  bool checked = false;   ///< it is opened with paranoid_checks
  bool copied = false;    ///< a checkpoint of it is made
  bool repaired = false;  ///< a repair ends it
  std::vector<store_edit> edits;
};

/// Accepts any bytes; of edits the first 32.
[[nodiscard]] store_recipe decode_store(std::span<const std::uint8_t> bytes);
/// One to six edits of the good store, the same for the same seed.
[[nodiscard]] store_recipe random_recipe(std::size_t good, std::uint64_t seed);

/// The names of the good stores of both engines: in memory and on a disk, closed, and as a kill or
/// a crash of the machine leaves them.
[[nodiscard]] std::span<const std::string_view> good_stores();

/// How far a store got.
struct store_outcome {
  bool opened = false;
  bool read = false;     ///< all that was asked for was answered
  bool written = false;  ///< and all that was written was taken
  bool repaired = false;
};

/// Makes the store, opens it, reads and writes, and copies and repairs it if asked to. What is
/// answered must have been written at some time; what is refused must be refused as damage, or for
/// lack of space; a repaired store works. If only records were damaged, a repair keeps all keys
/// whose newest record is intact. Throws broken_promise.
[[nodiscard]] store_outcome exercise(const store_recipe& input);

}  // namespace outlast::fuzz
