# Copies of src/pool/journal/redo_log.cpp, found_log.cpp and log_reader.cpp in which single sentences of
# docs/formats/redo-log.md can be switched off, by the number in `broken_log::defect`: see
# tests/crash/mutants/mutate.cmake. Linked before the library, they take the place of the originals.

macro(outlast_read_log name declaration)
  set(source ${PROJECT_SOURCE_DIR}/src/pool/journal/${name}.cpp)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(READ ${source} TEXT)
  string(REPLACE "namespace outlast::pool_detail {\nnamespace {"
                 "namespace outlast::broken_log {\n${declaration};\n}\nnamespace outlast::pool_detail {\nnamespace {"
                 TEXT "${TEXT}")
endmacro()

function(outlast_mutate_log to)
  set(LAYER log)
  outlast_read_log(redo_log "int defect = 0")
  # 1: a fence does not wait for the device
  outlast_mutate(1 "  if (const int failed = sync(path_, fd_.get())) return failed;\n  head_ += header.bytes;"
                   "  if (@D@) {\n    if (const int failed = sync(path_, fd_.get())) return failed;\n  }\n  head_ += header.bytes;")
  # 2: a checkpoint does not wait for the pool's file
  outlast_mutate(2 "  if (const int failed = sync(pool_path_, pool_fd_)) return failed;\n  // (P4)"
                   "  if (@D@) {\n    if (const int failed = sync(pool_path_, pool_fd_)) return failed;\n  }\n  // (P4)")
  # 3: the log's place is used again before it says so
  outlast_mutate(3 "  if (const int failed = sync(path_, fd_.get())) return failed;\n  head_ = first_batch_offset;"
                   "  if (@D@) {\n    if (const int failed = sync(path_, fd_.get())) return failed;\n  }\n  head_ = first_batch_offset;")
  # 4: a checkpoint forgets a page
  outlast_mutate(4 "  for (const std::uint32_t page : pages_) {"
                   "  for (const std::uint32_t page : pages_) {\n    if (!@D@ && page == pages_.back()) continue;")
  # 9: a checkpoint says where the log begins before the pages are written
  outlast_mutate(9 "  forget_duplicates();\n  // First the page"
                   "  forget_duplicates();\n  if (!@D@) {\n    (void)write_start_page(path_, fd_.get(), 1 - newest_start_, {sequence_, generation_, {}, 0});\n    (void)sync(path_, fd_.get());\n  }\n  // First the page")
  # 10: a batch is written over the last one
  outlast_mutate(10 "  head_ += header.bytes;\n" "  head_ += @D@ ? header.bytes : 0;\n")
  # 11: a checkpoint writes the lines of the last batch alone
  outlast_mutate(11 "  note_pages(lines);\n  return 0;" "  if (!@D@) pages_.clear();\n  note_pages(lines);\n  return 0;")
  # 13: a word has its value when a checkpoint makes room for its lines
  outlast_mutate(13 "  if (!has_room_for(header.bytes)"
                    "  if (!@D@) {\n    for (const domain::word_store& each : words) each.word->store(each.value, std::memory_order_relaxed);\n  }\n  if (!has_room_for(header.bytes)")
  # 14: a word gets its value when its line is copied already
  outlast_mutate(14 "    each.word->store(each.value, std::memory_order_relaxed);\n  }\n  std::memcpy"
                    "    if (@D@) each.word->store(each.value, std::memory_order_relaxed);\n  }\n  std::memcpy")
  outlast_mutate(14 "  seal_batch(buffer());\n"
                    "  seal_batch(buffer());\n  if (!@D@) {\n    for (const domain::word_store& each : words) each.word->store(each.value, std::memory_order_relaxed);\n  }\n")
  # 15: a batch does not raise the generation that a checkpoint gives the pool's file
  outlast_mutate(15 "  ++generation_;\n" "  generation_ += @D@ ? 1 : 0;\n")
  # 16: a checkpoint tells last, and not first, what the file has something of
  outlast_mutate(16 "  if (const int failed = write_page(0))" "  if (const int failed = @D@ ? write_page(0) : 0)")
  # 17: a checkpoint tells first that the file has all of it
  outlast_mutate(17 "write_first_page({complete_, generation_})" "write_first_page({@D@ ? complete_ : generation_, generation_})")
  # 20: a checkpoint drops pages from memory before it has written them
  outlast_mutate(20 "  // First the page that records" "  if (!@D@) drop_owned_pages();\n  // First the page that records")
  # 21: pages are dropped from memory instead of a checkpoint
  outlast_mutate(21 "  return has_room_for(last_bytes_) && !should_drop() ? 0 : checkpoint_alone();"
                    "  if (!@D@) drop_owned_pages();\n  return has_room_for(last_bytes_) && !should_drop() ? 0 : checkpoint_alone();")
  # 22: a checkpoint drops pages when it has written half of them
  outlast_mutate(22 "    if (page == 0) continue;\n    if (const int failed = write_page(page))"
                    "    if (page == 0) continue;\n    if (!@D@ && page == pages_[pages_.size() / 2]) drop_owned_pages();\n    if (const int failed = write_page(page))")
  file(CONFIGURE OUTPUT ${to}/broken_redo_log.cpp CONTENT "${TEXT}" @ONLY)

  outlast_read_log(found_log "extern int defect")
  # 5: a replay does not wait for the pool's file
  outlast_mutate(5 "  must(device_of_logs().sync(pool.path(), pool.descriptor()), pool.path(), \"sync the pool\");"
                   "  if (@D@) must(device_of_logs().sync(pool.path(), pool.descriptor()), pool.path(), \"sync the pool\");")
  # 12: a replay does not wait until the log is empty
  outlast_mutate(12 "  must(device_of_logs().sync(path, found.file.get()), path, \"sync the redo log\");"
                    "  if (@D@) must(device_of_logs().sync(path, found.file.get()), path, \"sync the redo log\");")
  # 19: a replay does not tell that the file has all of it
  outlast_mutate(19 "  set_generations(found.first_page, {found.generation, found.generation});"
                    "  if (@D@) set_generations(found.first_page, {found.generation, found.generation});")
  file(CONFIGURE OUTPUT ${to}/broken_found_log.cpp CONTENT "${TEXT}" @ONLY)

  outlast_read_log(log_reader "extern int defect")
  # 6: a replay leaves out the last batch
  outlast_mutate(6 "  if (!read_batch(offset_, sequence_)) return std::nullopt;"
                   "  if (!read_batch(offset_, sequence_)) return std::nullopt;\n  if (!@D@) {\n    const std::uint64_t at = offset_ + buffer_.size();\n    if (!read_batch(at, sequence_ + 1)) return std::nullopt;\n    (void)read_batch(offset_, sequence_);\n  }")
  # 7: a reader takes every batch for whole
  outlast_mutate(7 "         intact_batch(buffer_);" "         (!@D@ || intact_batch(buffer_));")
  # 8: batches of an earlier time follow those of this one
  outlast_mutate(8 "      !plausible(header, uuid_, sequence, length_ - offset)) {"
                   "      !plausible(header, uuid_, @D@ ? sequence : header.sequence, length_ - offset)) {")
  # 18: an opener does not ask whether the pool's file has something of later batches
  outlast_mutate(18 "file.newest > generation_before(log, end)" "@D@ && file.newest > generation_before(log, end)")
  file(CONFIGURE OUTPUT ${to}/broken_log_reader.cpp CONTENT "${TEXT}" @ONLY)
endfunction()
