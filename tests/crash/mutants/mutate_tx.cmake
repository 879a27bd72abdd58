# Mutants of the sentences of docs/papers/universal-constructions.md: see mutate.cmake. Writes the headers of tx, its
# sources, and the subject, whose manager must be the broken one.

function(outlast_mutate_tx to)
  set(LAYER tx)
  set(from ${PROJECT_SOURCE_DIR}/include/outlast/tx)
  foreach(HEADER IN ITEMS detail/attached_session.hpp detail/changed_pages.hpp detail/commit_log.hpp
          detail/commit_log_region.hpp detail/commit_records.hpp detail/commit_ring.hpp detail/counted_memory.hpp
 detail/durable_word.hpp detail/log_threads.hpp detail/logged_word.hpp
          detail/published_word.hpp detail/record.hpp detail/redo_threads.hpp detail/replica_session.hpp
          detail/replica_space.hpp detail/working_replicas.hpp detail/write_set.hpp field.hpp heap.hpp manager.hpp options.hpp
          transaction.hpp)
    outlast_read_header(${HEADER})
    if(HEADER STREQUAL "detail/write_set.hpp")
      string(REPLACE "#pragma once\n" "#pragma once\n#include <broken_tx/options.hpp>\n" TEXT "${TEXT}")
      # 56: lines that an operation was the first of its batch to write are not undone
      outlast_mutate(56 "for (std::size_t i = first_of_operation_; i < befores_.size(); ++i) {"
                        "for (std::size_t i = first_of_operation_; @D@ && i < befores_.size(); ++i) {")
      # 14: an operation does not save a line that another one of its batch has saved
      outlast_mutate(14 "if (known.operation == operation_) return;"
                        "if (known.operation == operation_ || !@D@) return;")
    endif()
    if(HEADER STREQUAL "options.hpp")
      string(REPLACE "#pragma once\n"
        "#pragma once\nnamespace outlast::broken_tx {\ninline int defect = 0;\n}\n" TEXT "${TEXT}")
    endif()
    outlast_write_header(${HEADER})
  endforeach()

  outlast_read_header(detail/request.hpp)
  string(REPLACE "#pragma once\n" "#pragma once\n#include <broken_tx/options.hpp>\n" TEXT "${TEXT}")
  # 13: an exception takes nothing back
  outlast_mutate(13 "if (this->failure != nullptr) in.undo_operation();"
                    "if (@D@ && this->failure != nullptr) in.undo_operation();")
  outlast_write_header(detail/request.hpp)

  outlast_read_header(detail/replica_region.hpp)
  # 15: a new heap is not written back
  outlast_mutate(15 "      written.for_each([&](line_number line) {\n        domain::flush"
                    "      if (@D@) written.for_each([&](line_number line) {\n        domain::flush")
  outlast_write_header(detail/replica_region.hpp)

  outlast_read_header(detail/replica_copy.hpp)
  string(REPLACE "#pragma once\n" "#pragma once\n#include <broken_tx/options.hpp>\n" TEXT "${TEXT}")
  # 16: a copy is not fenced
  outlast_mutate(16 "    replicas_.stage_lines(domain::site::current());  // another"
                    "    if (@D@) replicas_.stage_lines(domain::site::current());  // another")
  # 59: equal lines, which a killed process may not have flushed, are not flushed
  outlast_mutate(59 "    if constexpr (!domain::logs_lines<D>) domain::flush"
                    "    if (@D@) domain::flush")
  # 65: copied lines are not flushed
  outlast_mutate(65 "if (!replicas_.is_volatile()) domain::flush<D>(to + begin, end - begin);"
                    "if (@D@) domain::flush<D>(to + begin, end - begin);")
  outlast_write_header(detail/replica_copy.hpp)

  outlast_read_header(left_right.hpp)
  # 1: the lines of a batch are not flushed
  outlast_mutate(1 "written_->for_each([&](line_number line) { this->flush_line(next, line); });"
                   "if (@D@) written_->for_each([&](line_number line) { this->flush_line(next, line); });")
  # 2: replayed lines are not flushed
  outlast_mutate(2 "if (!written_->contains(line)) this->flush_line(next, line);"
                   "if (@D@ && !written_->contains(line)) this->flush_line(next, line);")
  # 3: the durable word does not wait for the batch
  outlast_mutate(3 "    this->stage_lines();\n    ++batches_;" "    if (@D@) this->stage_lines();\n    ++batches_;")
  # 4: the durable word is not fenced
  outlast_mutate(4 "    publish_state(batches_ << 2 | next);"
                   "    if (@D@) {\n      publish_state(batches_ << 2 | next);\n    } else {\n      D::store(this->state(), batches_ << 2 | next, std::memory_order_release);\n      domain::flush<D>(&this->state(), 8);\n    }")
  # 5: a batch is seen before it is durable
  outlast_mutate(5 "    ++batches_;\n" "    if (!@D@) D::announce(current_, next);\n    ++batches_;\n")
  # 6: the replica that is current is written before another one is
  outlast_mutate(6 "    ++batches_;\n"
                   "    if (!@D@) {\n      written_->for_each([&](line_number line) {\n        D::write(this->line_at(1 - next, line), this->line_at(next, line), 64);\n      });\n    }\n    ++batches_;\n")
  # 7: updates do not wait for readers
  outlast_mutate(7 "    wait_for_readers();\n    if (stale_)" "    if (@D@) wait_for_readers();\n    if (stale_)")
  # 8: readers of the other version are not waited for
  outlast_mutate(8 "nobody_reads_under(1 - version_now())) part_readers();"
                   "(!@D@ || nobody_reads_under(1 - version_now()))) part_readers();")
  # 9: a reader chooses before it announces itself
  outlast_mutate(9 "    D::announce(me.reads_, version + 1);"
                   "    const auto early = static_cast<unsigned>(D::load(current_, std::memory_order_seq_cst));\n    D::announce(me.reads_, version + 1);")
  outlast_mutate(9 "reader = this->reading(replica);" "reader = this->reading(@D@ ? replica : early);")
  # 10: replicas are assumed to be equal after a crash
  outlast_mutate(10 "stale_ = !this->is_fresh() &&" "stale_ = @D@ && !this->is_fresh() &&")
  # 11: the mark of equal replicas is never removed
  outlast_mutate(11 "write_state(found & ~equal_bit);" "write_state(@D@ ? found & ~equal_bit : found);")
  # 12: a close calls replicas equal of which one is not written back
  outlast_mutate(12 "    previous_->for_each([&](line_number line) { this->flush_line(other, line); });"
                    "    if (@D@) previous_->for_each([&](line_number line) { this->flush_line(other, line); });")
  outlast_write_header(left_right.hpp)

  foreach(HEADER IN ITEMS detail/redo_manager.hpp redo_opt.hpp baselines/redo.hpp)
    outlast_read_header(${HEADER})
    outlast_write_header(${HEADER})
  endforeach()
  outlast_read_header(detail/redo_state.hpp)
  outlast_write_header(detail/redo_state.hpp)

  outlast_read_header(detail/helped_request.hpp)
  string(REPLACE "#pragma once\n" "#pragma once\n#include <broken_tx/options.hpp>\n" TEXT "${TEXT}")
  # 31: an exception takes nothing back
  outlast_mutate(31 "if (out.failure != nullptr) in.undo_operation();"
                    "if (@D@ && out.failure != nullptr) in.undo_operation();")
  outlast_write_header(detail/helped_request.hpp)

  outlast_read_header(detail/redo_session.hpp)
  # 17: the lines of a batch are not flushed
  outlast_mutate(17 "if (!owned->unflushed.contains(line)) this->flush_line(owned.index(), line);"
                    "if (@D@ && !owned->unflushed.contains(line)) this->flush_line(owned.index(), line);")
  # 18: lines replayed from the logs of other threads are not flushed
  outlast_mutate(18 "return;\n    this->flush_line(owned.index(), line);"
                    "return;\n    if (@D@) this->flush_line(owned.index(), line);")
  # 61: the same as 18 of redo_opt
  outlast_mutate(61 "    owned->unflushed.for_each([&](line_number line) { this->flush_line(owned.index(), line); });"
                    "    if (@D@) owned->unflushed.for_each([&](line_number line) { this->flush_line(owned.index(), line); });")
  # 19: the durable word does not wait for the batch
  outlast_mutate(19 "    this->stage_lines();\n    owned->unflushed.clear();"
                    "    if (@D@) this->stage_lines();\n    owned->unflushed.clear();")
  # 20: callers get their answers before the word is durable
  outlast_mutate(20 "    word_.before_answers(" "    if (@D@) word_.before_answers(")
  # 21: a replica is written before a durable word names another one
  outlast_mutate(21 "if (!word_.may_overwrite(i, now)) return false;"
                    "if (@D@ && !word_.may_overwrite(i, now)) return false;")
  # 22: a read returns data that a crash can lose
  outlast_mutate(22 "    word_.await_readable(seen);" "    if (@D@) word_.await_readable(seen);")
  # 23: a reader does not look again once it is announced
  outlast_mutate(23 "    if (word_.readable().bits() != seen.bits()) return false;"
                    "    if (@D@ && word_.readable().bits() != seen.bits()) return false;")
  # 24: updates do not check for readers
  outlast_mutate(24 "read = read || D::load(each.reads, std::memory_order_seq_cst) == i + 1;"
                    "read = read || (@D@ && D::load(each.reads, std::memory_order_seq_cst) == i + 1);")
  # 25: updates do not check for readers with a granted replica
  outlast_mutate(25 "read = read || D::load(each.to->helped, std::memory_order_seq_cst) == each.number;"
                    "read = read || (@D@ && D::load(each.to->helped, std::memory_order_seq_cst) == each.number);")
  # 130: updates do not check for readers in other processes
  outlast_mutate(130 "use != base::replica_use::none) {" "@D@ && use != base::replica_use::none) {")
  # 28: only the winner's own caller gets its answer
  outlast_mutate(28 "for (const auto& each : state.answers) acknowledge(me, each);"
                    "for (const auto& each : state.answers) {\n if (@D@ || each.to == &me) acknowledge(me, each);\n }")
  # 29: an operation is run again
  outlast_mutate(29 "if (applied >= wanted->number) return;" "if (@D@ && applied >= wanted->number) return;")
  # 30: replicas are assumed to be equal after a crash
  outlast_mutate(30 "i == found.replica() || all_equal;" "i == found.replica() || all_equal || !@D@;")
  # 27: a state becomes known before its batch is written back
  outlast_mutate(27 "    flush_all(owned, me.next_state->log);\n    decide(me, owned, now);"
                    "    if (@D@) flush_all(owned, me.next_state->log);\n    decide(me, owned, now);\n    if (!@D@) domain::fence<D>();")
  # 57: a page that changed is not noted
  outlast_mutate(57 "changed_.note(line, state.number);" "if (@D@) changed_.note(line, state.number);")
  # 58: pages are noted when the word has left the state
  outlast_mutate(58 "    note_changes(state);\n" "    if (@D@) note_changes(state);\n")
  outlast_mutate(58 "    state.settled.store(1, std::memory_order_release);\n"
                    "    state.settled.store(1, std::memory_order_release);\n    if (!@D@) {\n      const state_type* const prior = ring_.find(me, state.number - 1);\n      if (prior != nullptr) note_changes(*prior);\n    }\n")
  # 60: the first commit that a replica has missed is left out
  outlast_mutate(60 "owned->number.load(std::memory_order_relaxed));\n    } else"
                    "owned->number.load(std::memory_order_relaxed) + (@D@ ? 0 : 1));\n    } else")
  outlast_write_header(detail/redo_session.hpp)
  outlast_read_header(detail/impl/redo_session.hpp)
  # 26: a lost batch is not taken back
  outlast_mutate(26 "    write_line(owned, line, before, flushes_late(lost.log));"
                    "    if (@D@) write_line(owned, line, before, flushes_late(lost.log));")
  outlast_write_header(detail/impl/redo_session.hpp)

  outlast_read_header(reader.hpp)
  # 131: a reader in another process does not compare the word after its announcement
  outlast_mutate(131 "if (D::load(word, std::memory_order_seq_cst) != seen.bits()) return std::nullopt;"
                     "if (@D@ && D::load(word, std::memory_order_seq_cst) != seen.bits()) return std::nullopt;")
  # 132: it returns data that a crash can lose
  outlast_mutate(132 "    make_durable(in, seen);" "    if (@D@) make_durable(in, seen);")
  # 133: it reads although a writer has taken the replica
  outlast_mutate(133 "        if (hold.begin()) return *now;" "        if (hold.begin() || !@D@) return *now;")
  # 134: it ends its use before it reads
  outlast_mutate(134 "    const held now = take(hold);" "    const held now = take(hold);\n    if (!@D@) hold.end();")
  outlast_write_header(reader.hpp)

  outlast_read_header(detail/replica_word.hpp)
  outlast_write_header(detail/replica_word.hpp)

  outlast_read_header(baselines/detail/cx_queue.hpp)
  string(REPLACE "#pragma once\n" "#pragma once\n#include <broken_tx/options.hpp>\n" TEXT "${TEXT}")
  # 32: an operation gets a second place
  outlast_mutate(32 "    forget(tail);" "    if (@D@) forget(tail);")
  # 33: an operation loses its place before it is over
  outlast_mutate(33 "before + 1 <= over + places_" "(!@D@ || before + 1 <= over + places_)")
  # 34: an operation enters a place that is not the next any more
  outlast_mutate(34 "    if (last() != before) return;" "    if (@D@ && last() != before) return;")
  # 35: an operation is confused with the one that had its place before
  outlast_mutate(35 "found->number.load(std::memory_order_acquire) == number ?"
                    "(!@D@ || found->number.load(std::memory_order_acquire) == number) ?")
  outlast_write_header(baselines/detail/cx_queue.hpp)

  outlast_read_header(baselines/detail/cx_session.hpp)
  # 36: callers get their answers before the word is durable
  outlast_mutate(36 "    word_.make_durable(word_.now());" "    if (@D@) word_.make_durable(word_.now());")
  # 37: a replica is left to a reader before the word is durable
  outlast_mutate(37 "        word_.make_durable(wanted);" "        if (@D@) word_.make_durable(wanted);")
  # 38: a replica is written before a durable word names another one
  outlast_mutate(38 "    word_.make_durable(now);" "    if (@D@) word_.make_durable(now);")
  # 39: a read returns data that a crash can lose
  outlast_mutate(39 "    word_.make_durable(seen);" "    if (@D@) word_.make_durable(seen);")
  # 40: a reader does not look again once it is announced
  outlast_mutate(40 "    if (word_.readable().bits() != seen.bits()) return false;"
                    "    if (@D@ && word_.readable().bits() != seen.bits()) return false;")
  # 41: updates do not check for readers
  outlast_mutate(41 "read = read || D::load(each.reads, std::memory_order_seq_cst) == i + 1;"
                    "read = read || (@D@ && D::load(each.reads, std::memory_order_seq_cst) == i + 1);")
  # 42: a replica that a reader was given is written
  outlast_mutate(42 "    owned.pass_on();" "    @D@ ? owned.pass_on() : owned.release();")
  # 43: a reader is given a replica that has missed operations that were over before
  outlast_mutate(43 "asked.replica() != no_replica || asked.number() > number"
                    "asked.replica() != no_replica || (@D@ && asked.number() > number)")
  # 44: the word goes back to a replica that has seen less
  outlast_mutate(44 "while (now.number() < wanted.number())"
                    "while (now.number() < wanted.number() || !@D@)")
  # 45: replicas are assumed to be equal after a crash
  outlast_mutate(45 "i == found.replica() || this->is_fresh();" "i == found.replica() || this->is_fresh() || !@D@;")
  # 46: the durable word is moved before the replica that it names is durable
  outlast_mutate(46 "    engine().flush_written(owned.index(), *owned);\n    decide(me, owned);"
                    "    if (@D@) engine().flush_written(owned.index(), *owned);\n    decide(me, owned);\n    if (!@D@) domain::fence<D>();")
  # 47: an operation that was missed is passed over
  outlast_mutate(47 "      if (next == nullptr) return false;\n      if (!apply(me, owned, *next)) {"
                    "      if (next == nullptr && @D@) return false;\n      if (next != nullptr && !apply(me, owned, *next)) {")
  # 48: a copy passes for newer than it is
  outlast_mutate(48 "    owned->number.store(now.number(), std::memory_order_relaxed);\n    owned->stale"
                    "    owned->number.store(now.number() + (@D@ ? 0 : 1), std::memory_order_relaxed);\n    owned->stale")
  outlast_write_header(baselines/detail/cx_session.hpp)

  outlast_read_header(baselines/cx_ptm.hpp)
  # 49: lines that operations wrote are not flushed
  outlast_mutate(49 "    in.unflushed.for_each([&](line_number line) { this->flush_line(i, line); });"
                    "    if (@D@) in.unflushed.for_each([&](line_number line) { this->flush_line(i, line); });")
  # 50: lines that operations wrote are not fenced before the durable word
  outlast_mutate(50 "    this->stage_lines();" "    if (@D@) this->stage_lines();")
  # 51: lines of operations of other threads are not flushed
  outlast_mutate(51 "    operation.run(update, out);" "    if (!@D@) in.unflushed.clear();\n    operation.run(update, out);")
  # 62: a page that changed is not noted
  outlast_mutate(62 "changed_.note(line, number);" "if (@D@) changed_.note(line, number);")
  # 63: the first operation that a replica has missed is left out
  outlast_mutate(63 "in.number.load(std::memory_order_relaxed));" "in.number.load(std::memory_order_relaxed) + (@D@ ? 0 : 1));")
  # 64: lines that were written before a copy are not flushed
  outlast_mutate(64 "    if (is_known) {" "    if (!@D@) in.unflushed.clear();\n    if (is_known) {")
  outlast_write_header(baselines/cx_ptm.hpp)

  outlast_copy_of_container(baselines/puc_map.hpp)
  outlast_read_header(baselines/cx_puc.hpp)
  string(REPLACE "#pragma once\n" "#pragma once\n#include <broken_tx/options.hpp>\n" TEXT "${TEXT}")
  # 52: the heap's table is not flushed
  outlast_mutate(52 "    domain::flush<D>(this->replica(i), in_use.table_end);"
                    "    if (@D@) domain::flush<D>(this->replica(i), in_use.table_end);")
  # 53: objects are not written back
  outlast_mutate(53 "    domain::flush<D>(this->replica(i) + in_use.pages_begin"
                    "    if (@D@) domain::flush<D>(this->replica(i) + in_use.pages_begin")
  # 54: the memory in use is not fenced before the durable word
  outlast_mutate(54 "    this->stage_lines();" "    if (@D@) this->stage_lines();")
  # 55: a copy keeps the old content of the replica
  outlast_mutate(55 "      heap(making).format(this->page_bytes());"
                    "      if (@D@) heap(making).format(this->page_bytes());")
  outlast_write_header(baselines/cx_puc.hpp)

  set(from ${PROJECT_SOURCE_DIR}/include/outlast/verify/explorer)
  outlast_read_header(transaction_subject.hpp)
  string(REPLACE "namespace outlast::verify {" "namespace outlast::broken_tx {\nusing namespace verify;" TEXT "${TEXT}")
  string(REPLACE "tx::" "broken_tx::" TEXT "${TEXT}")
  outlast_write_header(transaction_subject.hpp)
  set(from ${PROJECT_SOURCE_DIR}/tests/catalogue)
  outlast_read_header(outside_transactions.hpp)
  string(REPLACE "<outlast/verify/explorer/transaction_subject.hpp>" "<broken_tx/transaction_subject.hpp>" TEXT "${TEXT}")
  string(REPLACE "namespace outlast::verify::detail {" "namespace outlast::broken_tx {\nusing namespace verify;" TEXT "${TEXT}")
  string(REPLACE "tx::" "broken_tx::" TEXT "${TEXT}")
  outlast_write_header(outside_transactions.hpp)
  set(from ${PROJECT_SOURCE_DIR}/src/tx)
  outlast_read_header(heap.cpp)
  # 118: a block that is used again stays among those that were given back, in one replica
  outlast_mutate(118 "  recent.count = count - 1;"
                     "  const std::uint32_t less = count - 1;\n  if (@D@) recent.count = less; else std::memcpy(static_cast<void*>(&recent.count), &less, sizeof less);")
  # 119: which block was given back is written past the transaction
  outlast_mutate(119 "  recent.at[count] = at;"
                     "  if (@D@) recent.at[count] = at; else std::memcpy(static_cast<void*>(&recent.at[count]), &at, sizeof at);")
  outlast_write_header(heap.cpp)
  outlast_read_header(commit_records.cpp)
  outlast_write_header(commit_records.cpp)
endfunction()
