# The sentences of docs/papers/universal-constructions.md: see mutate.cmake. Beside the headers of tx, its
# compiled half, and the subject, whose manager has to be the broken one.

function(outlast_mutate_tx to)
  set(LAYER tx)
  set(from ${PROJECT_SOURCE_DIR}/include/outlast/tx)
  foreach(HEADER IN ITEMS detail/record.hpp detail/write_set.hpp field.hpp heap.hpp manager.hpp options.hpp
          transaction.hpp)
    outlast_read_header(${HEADER})
    if(HEADER STREQUAL "detail/write_set.hpp")
      string(REPLACE "#pragma once\n" "#pragma once\n#include <broken_tx/options.hpp>\n" TEXT "${TEXT}")
      # 14: an operation does not save what another one of its batch has saved
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

  outlast_read_header(detail/replica_session.hpp)
  # 15: a new heap is not written back
  outlast_mutate(15 "written.for_each([&](line_number line) { flush_line(i, line); });"
                    "if (@D@) written.for_each([&](line_number line) { flush_line(i, line); });")
  # 16: nobody waits for a copy
  outlast_mutate(16 "    D::psync();\n" "    if (@D@) D::psync();\n")
  outlast_write_header(detail/replica_session.hpp)

  outlast_read_header(left_right.hpp)
  # 1: what a batch has written is not written back
  outlast_mutate(1 "written_->for_each([&](line_number line) { this->flush_line(next, line); });"
                   "if (@D@) written_->for_each([&](line_number line) { this->flush_line(next, line); });")
  # 2: what was repeated is not written back
  outlast_mutate(2 "if (!written_->contains(line)) this->flush_line(next, line);"
                   "if (@D@ && !written_->contains(line)) this->flush_line(next, line);")
  # 3: the durable word does not wait for the batch
  outlast_mutate(3 "    domain::fence<D>();\n    ++batches_;" "    if (@D@) domain::fence<D>();\n    ++batches_;")
  # 4: nobody waits for the durable word
  outlast_mutate(4 "    write_state(batches_ << 2 | next);"
                   "    if (@D@) {\n      write_state(batches_ << 2 | next);\n    } else {\n      D::store(this->state(), batches_ << 2 | next, std::memory_order_release);\n      domain::flush<D>(&this->state(), 8);\n    }")
  # 5: a batch is seen before it is durable
  outlast_mutate(5 "    ++batches_;\n" "    if (!@D@) D::announce(current_, next);\n    ++batches_;\n")
  # 6: the replica that is current is written before another one is
  outlast_mutate(6 "    ++batches_;\n"
                   "    if (!@D@) {\n      written_->for_each([&](line_number line) {\n        D::write(this->line_at(1 - next, line), this->line_at(next, line), 64);\n      });\n    }\n    ++batches_;\n")
  # 7: nobody waits for readers
  outlast_mutate(7 "    wait_for_readers();\n    if (stale_)" "    if (@D@) wait_for_readers();\n    if (stale_)")
  # 8: readers of the other version are not waited for
  outlast_mutate(8 "nobody_reads_under(1 - version_now())) part_readers();"
                   "(!@D@ || nobody_reads_under(1 - version_now()))) part_readers();")
  # 9: a reader chooses before it announces itself
  outlast_mutate(9 "    D::announce(me.reads_, version + 1);"
                   "    const auto early = static_cast<unsigned>(D::load(current_, std::memory_order_seq_cst));\n    D::announce(me.reads_, version + 1);")
  outlast_mutate(9 "reader = this->reading(replica);" "reader = this->reading(@D@ ? replica : early);")
  # 10: what a crash left behind is taken for equal
  outlast_mutate(10 "stale_ = !this->is_fresh() &&" "stale_ = @D@ && !this->is_fresh() &&")
  # 11: the replicas stay equal for ever
  outlast_mutate(11 "write_state(found & ~equal_bit);" "write_state(@D@ ? found & ~equal_bit : found);")
  # 12: a close calls replicas equal of which one is not written back
  outlast_mutate(12 "    previous_->for_each([&](line_number line) { this->flush_line(other, line); });"
                    "    if (@D@) previous_->for_each([&](line_number line) { this->flush_line(other, line); });")
  outlast_write_header(left_right.hpp)

  set(from ${PROJECT_SOURCE_DIR}/include/outlast/verify)
  outlast_read_header(transaction_subject.hpp)
  string(REPLACE "namespace outlast::verify {" "namespace outlast::broken_tx {\nusing namespace verify;" TEXT "${TEXT}")
  string(REPLACE "tx::" "broken_tx::" TEXT "${TEXT}")
  outlast_write_header(transaction_subject.hpp)
  set(from ${PROJECT_SOURCE_DIR}/src/tx)
  outlast_read_header(heap.cpp)
  outlast_write_header(heap.cpp)
endfunction()
