# Copies of the headers of the record engine in which single sentences of its protocol can be switched off: see
# mutate.cmake. The copies have the namespace store_detail::broken_records and the format of the original.

function(outlast_mutate_records to)
  set(LAYER records)
  set(from ${PROJECT_SOURCE_DIR}/src/db/records)
  file(CONFIGURE OUTPUT ${to}/broken_records/defect.hpp CONTENT
       "#pragma once\nnamespace outlast::broken_records {\ninline int defect = 0;\n}\n")
  foreach(HEADER IN ITEMS index_pages.hpp index_notes.hpp kept_index.hpp ordered_index.hpp index_build.hpp index_joins.hpp index_splits.hpp
          versions.hpp key_locks.hpp object_memory.hpp segment_blocks.hpp segments.hpp record_store.hpp record_cleaner.hpp record_marks.hpp record_reads.hpp record_recovery.hpp
          record_reopening.hpp record_writes.hpp record_batches.hpp record_engine.hpp)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${from}/${HEADER})
    file(READ ${from}/${HEADER} TEXT)
    string(REPLACE "<src/db/records/" "<broken_records/" TEXT "${TEXT}")
    string(REPLACE "<broken_records/format.hpp>" "<src/db/records/format.hpp>" TEXT "${TEXT}")
    string(REPLACE "<broken_records/kept_heap.hpp>" "<src/db/records/kept_heap.hpp>" TEXT "${TEXT}")
    string(REPLACE "namespace outlast::store_detail::records {"
                   "namespace outlast::store_detail::broken_records {\nusing namespace records;" TEXT "${TEXT}")
    string(REPLACE "#pragma once\n" "#pragma once\n#include <broken_records/defect.hpp>\n#include <src/db/records/format.hpp>\n"
                   TEXT "${TEXT}")
    if(HEADER STREQUAL "record_writes.hpp")
      # 140: a record is not durable when its slot is stored (P1, P2)
      outlast_mutate(140 "  // (P1, P2) the record is durable before a reader can see it.\n  domain::fence<D>();"
                         "  if (@D@) domain::fence<D>();")
      # 141: a write does not lock its key (V1, V4)
      outlast_mutate(141 "  const std::lock_guard lock(locks_[locks_.number_of(what.key)]);\n  const place at"
                         "  std::unique_lock lock(locks_[locks_.number_of(what.key)], std::defer_lock);\n  const successor early_next = successor_of(index_.find(what.key).word);\n  if (@D@) lock.lock();\n  const place at")
      # 142: the version is chosen before the key is locked (V4)
      outlast_mutate(142 "  const successor next = successor_of(at.word);\n  mine.version"
                         "  const successor next = @D@ ? successor_of(at.word) : early_next;\n  mine.version")
      # 143: whether snapshots exist is read before the leaf is locked (V2)
      outlast_mutate(143 "  const auto replace = [&](std::uint64_t there) {\n    // (V2)"
                         "  const bool early_watched = moments_.is_watched();\n  const std::uint64_t early_now = moments_.now();\n  const auto replace = [&](std::uint64_t there) {\n    // (V2)")
      outlast_mutate(143 "    if (!moments_.is_watched()) {\n      gone.add_chain(there);\n      return record;"
                         "    if (@D@ ? !moments_.is_watched() : !early_watched) {\n      gone.add_chain(there);\n      return record;")
      # 144: the moment is read before the leaf is locked (V2)
      outlast_mutate(144 "    spare->moment.store(moments_.now(), relaxed);"
                         "    spare->moment.store(@D@ ? moments_.now() : early_now, relaxed);")
      # 145: versions that a snapshot sees are cut off (V5)
      outlast_mutate(145 "    if (its != 0 && its <= oldest) {" "    if (its != 0 && (its <= oldest || !@D@)) {")
      # 188: newest snapshots that see a version are not asked for (V5)
      outlast_mutate(188 "  if (first == end || moments_.newest() < first) return false;"
                         "  if (first == end || moments_.newest() < first || !@D@) return false;")
      # 162: a record does not know the records before it (P7)
      outlast_mutate(162 "  if (next <= usual) return {usual, oldest};" "  if (next <= usual) return {usual, @D@ ? oldest : no_ordinal};")
      outlast_mutate(162 "  return {next, oldest};" "  return {next, @D@ ? oldest : no_ordinal};")
      # 192: a write is noted for the next mark after readers have seen it
      outlast_mutate(192 "  note_written();\n  node* spare" "  if (@D@) note_written();\n  node* spare")
      outlast_mutate(192 "  if (spare != nullptr) objects_.destroy(spare);\n  add_counted("
                         "  if (!@D@) {\n    D::schedule_point();\n    note_written();\n  }\n  if (spare != nullptr) objects_.destroy(spare);\n  add_counted(")
      # 198: the effect of a write is noted after the write
      outlast_mutate(198 "  if (mine.noted != nullptr) {\n    mine.noted->begin_write("
                         "  if (@D@ && mine.noted != nullptr) {\n    mine.noted->begin_write(")
    elseif(HEADER STREQUAL "record_batches.hpp")
      # 146: readers see a batch while it is linked
      outlast_mutate(146 "  std::size_t linked = 0;\n"
                         "  std::size_t linked = 0;\n  if (!@D@) with->state.store(group::ready, seq_cst);\n")
      # 147: the moment of a batch is set again after a reader has set it
      outlast_mutate(147 "  if (with->state.compare_exchange(state, stamp, seq_cst)) state = stamp;\n  add_counted"
                         "  if (with->state.compare_exchange(state, stamp, seq_cst) || !@D@) state = stamp;\n  add_counted")
      # 148: a batch is not ready before its moment is set
      outlast_mutate(148 "  with->state.store(group::ready, seq_cst);\n  std::uint64_t state"
                         "  const std::uint64_t early = moments_.now() + 3;\n  D::schedule_point();\n  with->state.store(@D@ ? group::ready : early, seq_cst);\n  std::uint64_t state")
      # 153: a single write of a batch's key does not wait for the batch
      outlast_mutate(153 "  for (const change& each : mine.sorted) mine.locks.push_back(locks_.number_of(each.key));"
                         "  for (const change& each : mine.sorted) {\n    if (@D@) mine.locks.push_back(locks_.number_of(each.key));\n  }")
      # 170: ranges are compared while other threads write
      outlast_mutate(170 "  bool has_ranges = read != nullptr && read->has_ranges();"
                         "  bool has_ranges = @D@ && read != nullptr && read->has_ranges();")
      # 171: keys that were read are not locked
      outlast_mutate(171 "  if (read != nullptr) {\n    read->for_each_key(" "  if (@D@ && read != nullptr) {\n    read->for_each_key(")
      # 172: what was read is not compared
      outlast_mutate(172 "  if (read != nullptr && !read->hold_in(" "  if (@D@ && read != nullptr && !read->hold_in(")
      # 193: a batch is noted for the next mark after readers have seen it
      outlast_mutate(193 "  note_written();\n  group* with" "  if (@D@) note_written();\n  group* with")
      outlast_mutate(193 "  settle_batch(mine, state - 3);\n" "  if (!@D@) note_written();\n  settle_batch(mine, state - 3);\n")
    elseif(HEADER STREQUAL "index_notes.hpp")
      # 194: a change of pages is not undone
      outlast_mutate(194 "    const std::uint32_t count = std::min(saved.load(relaxed), max_pages);"
                         "    const std::uint32_t count = @D@ ? std::min(saved.load(relaxed), max_pages) : 0;")
      # 195: a page stays locked
      outlast_mutate(195 "      if ((version & 1) != 0) one.version.store(" "      if (@D@ && (version & 1) != 0) one.version.store(")
      # 196: a change takes effect before it is complete
      outlast_mutate(196 "    saved.store(count, release);" "    saved.store(@D@ ? count : 0, release);")
    elseif(HEADER STREQUAL "record_reopening.hpp")
      # 197: the last records are not compared
      outlast_mutate(197 "  if (last == 0) return true;" "  if (last == 0 || !@D@) return true;")
      # 201: segments that a life has cleaned end in another order than it has cleaned them (P7)
      outlast_mutate(201 "            [](const auto& a, const auto& b) { return a.first < b.first; });"
                         "            [](const auto& a, const auto& b) { return @D@ ? a.first < b.first : a.first > b.first; });")
      outlast_mutate(201 "    if (i != 0 && left_cleaned_[i - 1].first < then) {" "    if (i != 0 && left_cleaned_[i - 1].first != then) {")
      # 202: segments that a life has cleaned are cleaned again
      outlast_mutate(202 "    each->is_victim = true;" "    each->is_victim = @D@;")
      # 209: a seal that a kill left in the caches is not durable before copies of its segment
      outlast_mutate(209 "        if (persists) domain::flush<D>(block, sizeof(segment_header));\n        adopt_kept"
                         "        if (@D@ && persists) domain::flush<D>(block, sizeof(segment_header));\n        adopt_kept")
      # 206: an index is used whose copies to the last block a kill has interrupted
      outlast_mutate(206 "|| has_half_moved()) return false;" "|| (@D@ && has_half_moved())) return false;")
      # 199: records of open segments get no slots
      outlast_mutate(199 "    install_found(found.records);" "    if (@D@) install_found(found.records);")
      # 200: versions for snapshots stay
      outlast_mutate(200 "    remove_left_nodes();" "    if (@D@) {\n      remove_left_nodes();\n    } else {\n      objects_.free_left();\n    }")
    elseif(HEADER STREQUAL "versions.hpp")
      # 149: a snapshot draws its moment before it declares itself (V3)
      outlast_mutate(149 "    watchers_.fetch_add(1, seq_cst);\n" "    if (@D@) watchers_.fetch_add(1, seq_cst);\n")
      outlast_mutate(149 "    node.value() = moment;"
                         "    D::schedule_point();\n    if (!@D@) watchers_.fetch_add(1, seq_cst);\n    node.value() = moment;")
      # 150: a snapshot does not keep what it will see (V3)
      outlast_mutate(150 "    if (all_.empty()) oldest_.store(" "    if (@D@ && all_.empty()) oldest_.store(")
      # 187: a snapshot that begins is not seen by writers that remove versions (V5)
      outlast_mutate(187 "    newest_.store(latest_moment, seq_cst);" "    if (@D@) newest_.store(latest_moment, seq_cst);")
      # 189: versions between two snapshots are removed, although an older snapshot sees them (V5)
      outlast_mutate(189 "    return found != all_.end() && *found < end;" "    return @D@ && found != all_.end() && *found < end;")
    elseif(HEADER STREQUAL "key_locks.hpp")
      # 168: a writer does not look whether it may write
      outlast_mutate(168 "        if (in.is_closed_.load(std::memory_order_seq_cst) == 0) return;"
                         "        if (in.is_closed_.load(std::memory_order_seq_cst) == 0 || !@D@) return;")
      # 169: the only writer does not wait for those before it
      outlast_mutate(169 "      while (D::load(word, std::memory_order_seq_cst) != 0) waiting.wait();"
                         "      while (@D@ && D::load(word, std::memory_order_seq_cst) != 0) waiting.wait();")
    elseif(HEADER STREQUAL "record_reads.hpp")
      # 173: what a transaction without changes has read is not compared
      outlast_mutate(173 "  return read.hold_in(content(*this, moment), order());"
                         "  return !@D@ || read.hold_in(content(*this, moment), order());")
    elseif(HEADER STREQUAL "record_marks.hpp")
      # 225: a mark is removed before the newest one, which a kill left in the caches, is durable
      outlast_mutate(225 "  if (last != nullptr) domain::persist<D>(last, Shape::mark_bytes);"
                         "  if (@D@ && last != nullptr) domain::persist<D>(last, Shape::mark_bytes);")
      # 226: the magic of an older mark is removed before its check
      outlast_mutate(226 "    clear_check(each);\n    clear_magic(each);"
                         "    if (@D@) clear_check(each);\n    clear_magic(each);\n    if (!@D@) clear_check(each);")
      # 227: the check of the newest mark is removed before its magic
      outlast_mutate(227 "  clear_magic(last);\n  clear_check(last);"
                         "  if (!@D@) clear_check(last);\n  clear_magic(last);\n  clear_check(last);")
      # 174: records are not durable with their mark (P10)
      outlast_mutate(174 "    if (each.end > each.of->durable_end) {" "    if (@D@ && each.end > each.of->durable_end) {")
      # 175: a mark is made while writes are in progress (V7)
      outlast_mutate(175 "  // (V7) no write is in progress.\n  close_gate();" "  if (@D@) close_gate();")
      # 176: space that was reserved counts as filled
      outlast_mutate(176 "      if (record.kind() == record_kind::space && first" "      if (@D@ && record.kind() == record_kind::space && first")
      # 177: the newest mark counts, although records are missing
      outlast_mutate(177 "is_newest = older == nullptr ||" "is_newest = !@D@ || older == nullptr ||")
      # 178: a segment ends before a mark covers its copies (P5)
      outlast_mutate(178 "    one->next_cleaned = covering_;\n    covering_ = one;"
                         "    segment<D>*& list = @D@ ? covering_ : ending_;\n    one->next_cleaned = list;\n    list = one;")
      # 181: a mark replaces the durable one (P10)
      outlast_mutate(181 "  const unsigned area = 1 - durable_area_;" "  const unsigned area = @D@ ? 1 - durable_area_ : durable_area_;")
      # 183: a crash is taken for a kill
      outlast_mutate(183 "  if (!machine_went_on) {" "  if (@D@ && !machine_went_on) {")
      # 184: a segment is not sealed durably before marks do not list it any more
      outlast_mutate(184 "    if (each.is_full) segment_space<D, Shape>::store_sealed("
                         "    if (@D@ && each.is_full) segment_space<D, Shape>::store_sealed(")
      # 185: a mark that a kill left in the caches is not durable when the other one is overwritten (P8)
      outlast_mutate(185 "    if (found_->newest != nullptr) domain::persist<D>(" "    if (@D@ && found_->newest != nullptr) domain::persist<D>(")
      # 186: a tombstone goes before the records that it hides, on a disk (P7)
      outlast_mutate(186 "    if (one->ends_after > before_end) {" "    if (@D@ && one->ends_after > before_end) {")
    elseif(HEADER STREQUAL "record_cleaner.hpp")
      # 157: a copy is not durable when its slot is stored (P5)
      outlast_mutate(157 "  place_bytes(mine, in, to, bytes);"
                         "  if (@D@) {\n    place_bytes(mine, in, to, bytes);\n  } else {\n    D::write(to, mine.scratch.data(), bytes);\n    domain::note_store<D>();\n  }")
      # 158: the space of a segment is used while operations read it (P6)
      outlast_mutate(158 "  segments_.discard(done);\n" "  segments_.discard(done);\n  if (!@D@) return segments_.release(done);\n")
      # 159: a tombstone goes before the records that it hides (P7)
      outlast_mutate(159 "  return of.present.have_none(" "  return !@D@ || of.present.have_none(")
      # 160: a slot goes before the clock has passed its version (V8)
      outlast_mutate(160 "  moments_.reach(records::moment_of(last) + 1);" "  if (@D@) moments_.reach(records::moment_of(last) + 1);")
      # 161: a copy that only snapshots see counts after a crash
      outlast_mutate(161 "age_word(in.ordinal, oldest, of.what == moved::fate::copied_aside);"
                         "age_word(in.ordinal, oldest, @D@ && of.what == moved::fate::copied_aside);")
      # 163: copies are younger than the records
      outlast_mutate(163 "  const std::uint64_t oldest = oldest_ordinal(segments_.of_record(of.from).ordinal, age);"
                         "  const std::uint64_t oldest = @D@ ? oldest_ordinal(segments_.of_record(of.from).ordinal, age) : in.ordinal;")
      # 164: a segment ends before all its records were copied (P5)
      outlast_mutate(164 "  if (bytes == 0) return end;\n"
                         "  if (bytes == 0) return end;\n  if (!@D@) segments_.discard(segments_.of_record(of.all[first].from));\n")
      # 191: segments are sealed while their last writes are in progress (P4)
      outlast_mutate(191 "  if constexpr (is_grouped) return seal_with_mark(with_last);\n  close_gate();\n  const struct opening {\n    writer_gate<D>& gate;\n    ~opening() { gate.open(); }\n  } opens{gate_};"
                         "  if constexpr (is_grouped) return seal_with_mark(with_last);\n  if (@D@) close_gate();\n  const struct opening {\n    writer_gate<D>& gate;\n    ~opening() {\n      if (@D@) gate.open();\n    }\n  } opens{gate_};")
    elseif(HEADER STREQUAL "index_joins.hpp")
      # 165: the version of a removed page does not change
      outlast_mutate(165 "  unlock(right);\n  unlock(left);" "  if (@D@) {\n    unlock(right);\n  } else {\n    unlock_unchanged(right);\n  }\n  unlock(left);")
      # 166: a joined page has the bound of one of its parts
      outlast_mutate(166 "  to.high.store(from.high.load(relaxed), release);" "  if (@D@) to.high.store(from.high.load(relaxed), release);")
    elseif(HEADER STREQUAL "segment_blocks.hpp")
      # 205: erasures take the block that is kept for copies
      outlast_mutate(205 "      return others < std::max" "      return @D@ && others < std::max")
    elseif(HEADER STREQUAL "segments.hpp")
      # 167: the end of a segment is not durable (P6, P7)
      outlast_mutate(167 "    domain::persist<D>(&header, sizeof header);\n    bytes_.fetch_sub"
                         "    if (@D@) domain::persist<D>(&header, sizeof header);\n    bytes_.fetch_sub")
      # 208: the rest of a segment that a crash has ended early stays unused
      outlast_mutate(208 "    return is_sealed ? dead + early_rest() : dead;" "    return is_sealed && @D@ ? dead + early_rest() : dead;")
      # 151: a segment is not found after a crash (P3)
      outlast_mutate(151 "std::memory_order_release);\n    domain::note_store<D>();\n    domain::persist<D>(&header, sizeof header);\n  }\n\n  page_space"
                         "std::memory_order_release);\n    domain::note_store<D>();\n    if (@D@) domain::persist<D>(&header, sizeof header);\n  }\n\n  page_space")
    elseif(HEADER STREQUAL "record_recovery.hpp")
      # 152: what a killed process had written is not durable when its segment is sealed (P8)
      outlast_mutate(152 "  domain::flush<D>(block + first, at - first);"
                         "  if (@D@) domain::flush<D>(block + first, at - first);")
      # 179: segments that a mark does not know count
      outlast_mutate(179 "  if (by_marks == fate::goes) {" "  if (@D@ && by_marks == fate::goes) {")
      # 180: records after the end in a mark count
      outlast_mutate(180 "  const bool ends_at_mark = by_marks == fate::ends_at_mark;"
                         "  const bool ends_at_mark = @D@ && by_marks == fate::ends_at_mark;")
      # 182: what a kill left is not durable with the first mark (P8)
      outlast_mutate(182 "  if (!is_durable) return domain::flush<D>(block, at);"
                         "  if (!is_durable) {\n    if (@D@) domain::flush<D>(block, at);\n    return;\n  }")
      # 207: of a record and a copy that a crash has interrupted the copy counts
      outlast_mutate(207 "    return !was_open(found, a.place) && was_open(found, b.place);"
                         "    return @D@ ? !was_open(found, a.place) && was_open(found, b.place) : was_open(found, a.place) && !was_open(found, b.place);")
      # 154: a part of a batch counts
      outlast_mutate(154 "    if (!is_entry) {\n" "    if (!is_entry) {\n      if (!@D@) return at;\n")
    elseif(HEADER STREQUAL "ordered_index.hpp")
      # 155: a slot is stored although its leaf has changed (V1)
      outlast_mutate(155 "      if (try_lock(*at.in, at.version)) {\n        if (has_room_for(at))"
                         "      if (try_lock(*at.in, @D@ ? at.version : at.in->version.load(relaxed) & ~std::uint64_t{1})) {\n        if (has_room_for(at))")
      # 156: a reader does not compare the version of a leaf
      outlast_mutate(156 "      const std::uint64_t word = in.slots[middle].load(acquire);\n      if (!still(in, found.version)) return false;"
                         "      const std::uint64_t word = in.slots[middle].load(acquire);\n      if (@D@ && !still(in, found.version)) return false;")
      outlast_mutate(156 "        found.at = middle + 1;\n      }\n    }\n    return still(in, found.version);"
                         "        found.at = middle + 1;\n      }\n    }\n    return !@D@ || still(in, found.version);")
      # 203: a leaf is searched although the page above it has changed
      outlast_mutate(203 "    return still(*of.above, of.version_above);" "    return !@D@ || still(*of.above, of.version_above);")
      # 204: a page is searched for the leaf of a key although it may have been split
      outlast_mutate(204 "      const std::uint64_t of_child = version_of(*child);\n      if (!still(in, version)) return {};"
                         "      const std::uint64_t of_child = version_of(*child);\n      if (@D@ && !still(in, version)) return {};")
      # 190: a reader compares the version of a leaf again that had changed
      outlast_mutate(190 "      if (!has_changed && still(*in, version)) return has;"
                         "      if ((!has_changed || !@D@) && still(*in, version)) return has;")
    endif()
    file(CONFIGURE OUTPUT ${to}/broken_records/${HEADER} CONTENT "${TEXT}" @ONLY)
  endforeach()
endfunction()
