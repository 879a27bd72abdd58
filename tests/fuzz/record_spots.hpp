// The parts of a store of records that edits change, and their checks.
#pragma once

#include <tests/fuzz/good_store.hpp>

#include <cstddef>

namespace outlast::fuzz {

/// Notes the words of segments, records, marks and headers of a store of records.
void note_record_spots(good_store& in);

/// Computes the checks of a part in an edited file from its present content, and writes them. A
/// record or batch keeps its lengths, its key and its value.
void write_checks(const good_store& good, std::size_t part, const file_of_store& file);

}  // namespace outlast::fuzz
