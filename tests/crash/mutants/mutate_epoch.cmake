# The sentences of docs/papers/montage.md: see mutate.cmake.

function(outlast_mutate_epoch to)
  set(LAYER epoch)
  set(from ${PROJECT_SOURCE_DIR}/include/outlast/epoch)
  foreach(HEADER IN ITEMS policies.hpp hash_map.hpp queue.hpp baselines/one_lock_queue.hpp detail/bucket_table.hpp
          detail/numbered_payloads.hpp detail/stored_pair.hpp detail/verified_exchange.hpp detail/version.hpp
          detail/line_writer.hpp detail/write_log.hpp detail/loss_window.hpp detail/leftovers.hpp
          items.hpp detail/change_gate.hpp detail/item_payload.hpp detail/recency.hpp bounded_cache.hpp
          nonblocking.hpp lockfree_list.hpp lockfree_queue.hpp)
    outlast_read_header(${HEADER})
    # 20: an operation begins before its lock is taken
    if(HEADER STREQUAL "hash_map.hpp")
      outlast_mutate(20 "    pending_operation coming(session_->memory());\n    const bool erased = session_->table().with(hash, [&](bucket& here) {"
                        "    std::optional<operation> early_op;\n    if (!@D@) early_op.emplace(session_->memory());\n    std::optional<pending_operation> coming;\n    if (!early_op) coming.emplace(session_->memory());\n    const bool erased = session_->table().with(hash, [&](bucket& here) {")
      outlast_mutate(20 "      operation op(coming);\n      here.remove(at);"
                        "      std::optional<operation> own_op;\n      if (!early_op) own_op.emplace(*coming);\n      operation& op = early_op ? *early_op : *own_op;\n      here.remove(at);")
    endif()
    if(HEADER STREQUAL "bounded_cache.hpp")
      # 57: changes go on beside an erasure of all items
      outlast_mutate(57 "        const std::lock_guard lock(session_->gate());\n        return work();"
                        "        std::unique_lock lock(session_->gate(), std::defer_lock);\n        if (@D@) lock.lock();\n        return work();")
      # 58: an erasure of all items is forgotten by recovery
      outlast_mutate(58 "      if (key == reserved_key) take_generation(at);"
                        "      if (@D@ && key == reserved_key) take_generation(at);")
      # 59: an item is put into the generation that was erased last
      outlast_mutate(59 "detail::item_state::of(then.marks, session_->generation())"
                        "detail::item_state::of(then.marks, @D@ ? session_->generation() : 0)")
    endif()
    # 49: an operation begins before the lock has shown its announcement
    if(HEADER STREQUAL "queue.hpp")
      outlast_mutate(49 "      pending_operation coming(this->memory());\n      const std::lock_guard lock(in_);"
                        "      pending_operation coming(this->memory());\n      std::optional<operation> early_op;\n      if (!@D@) early_op.emplace(coming);\n      const std::lock_guard lock(in_);")
      outlast_mutate(49 "      operation op(coming);\n      pair::"
                        "      std::optional<operation> own_op;\n      if (!early_op) own_op.emplace(coming);\n      operation& op = early_op ? *early_op : *own_op;\n      pair::")
      # 53: whoever pops begins before the lock is taken
      outlast_mutate(53 "      pending_operation coming(this->memory());\n      const std::lock_guard lock(front());"
                        "      pending_operation coming(this->memory());\n      std::optional<operation> early_op;\n      if (!@D@) early_op.emplace(coming);\n      const std::lock_guard lock(front());")
      outlast_mutate(53 "      operation op(coming);\n      // (2)"
                        "      std::optional<operation> own_op;\n      if (!early_op) own_op.emplace(coming);\n      operation& op = early_op ? *early_op : *own_op;\n      // (2)")
    endif()
    if(HEADER STREQUAL "lockfree_queue.hpp")
      # 40: a node gets a label only after the next one
      outlast_mutate(40 "      op.label(*last);  // I1" "      if (@D@) op.label(*last);  // I1")
      # 41: a value is taken after one that nobody has taken yet
      outlast_mutate(41 "      op.retire(*taken);  // I2" "      if (@D@ || first == nullptr) op.retire(*taken);  // I2")
      # 42: a value is taken that is not there yet
      outlast_mutate(42 "      op.label(*first);           // I1" "      if (@D@) op.label(*first);           // I1")
      # 43: who answers that nothing is there does not look at who took the last
      outlast_mutate(43 "op.retire(*taken);  // I2" "if (@D@ || first != nullptr) op.retire(*taken);  // I2")
    endif()
    outlast_write_header(${HEADER})
  endforeach()

  outlast_read_header(detail/nonblocking_epochs.hpp)
  string(REPLACE "#pragma once\n" "#pragma once\n#include <broken_epoch/options.hpp>\n" TEXT "${TEXT}")
  # 29: the clock is read before the intent is there
  outlast_mutate(29 "    D::announce(mine.intent_, what);\n    const std::uint64_t epoch = now_.load(std::memory_order_seq_cst);"
                    "    const std::uint64_t early = now_.load(std::memory_order_seq_cst);\n    D::announce(mine.intent_, what);\n    const std::uint64_t epoch = @D@ ? now_.load(std::memory_order_seq_cst) : early;")
  # 37: logs are written back before intents are looked at
  outlast_mutate(37 "      help(each, epoch, where);"
                    "      if (!@D@) {\n        for (write_log<D>& log : each.logs_) {\n          if (log.epoch() == epoch - 1) log.write_back(where.at(1));\n        }\n        D::schedule_point();\n        help(each, epoch, where);\n        return;\n      }\n      help(each, epoch, where);")
  # 30: a tick looks at no intent
  outlast_mutate(30 "      help(each, epoch, where);" "      if (@D@) help(each, epoch, where);")
  # 31: a tick labels in the epoch that it ends
  outlast_mutate(31 "(void)node.stored().template try_label<D>(epoch, where.at(1));"
                    "(void)node.stored().template try_label<D>(@D@ ? epoch : epoch - 1, where.at(1));")
  # 35: an intent goes away before what was done is noted
  outlast_mutate(35 "      note(mine, epoch, &node.stored(), node.bytes(), where.at(1));"
                    "      if (!@D@) withdraw(mine);\n      note(mine, epoch, &node.stored(), node.bytes(), where.at(1));")
  # 32: what got a label is not written back
  outlast_mutate(32 "      note(mine, epoch, &node.stored(), node.bytes(), where.at(1));"
                    "      if (@D@) note(mine, epoch, &node.stored(), node.bytes(), where.at(1));")
  # 33: the mark of what is replaced is not written back
  outlast_mutate(33 "        note(mine, epoch, &old->stored(), sizeof(payload_header), where.at(3));"
                    "        if (@D@) note(mine, epoch, &old->stored(), sizeof(payload_header), where.at(3));")
  # 34: the mark of what is deleted is not written back
  outlast_mutate(34 "      note(mine, epoch, &node.stored(), sizeof(payload_header), where.at(1));"
                    "      if (@D@) note(mine, epoch, &node.stored(), sizeof(payload_header), where.at(1));")
  # 36: a tick forgets what a label retires
  outlast_mutate(36 "if (node.replaced() == old) {" "if (node.replaced() == old && @D@) {")
  outlast_write_header(detail/nonblocking_epochs.hpp)

  outlast_read_header(detail/nonblocking_set.hpp)
  # 38: nodes are deleted before they have a label
  outlast_mutate(38 "void admit(Node& node) { confirm(node); }" "void admit(Node& node) {\n    if (@D@) confirm(node);\n  }")
  # 39: who answers that a key is not there does not look at who deleted it
  outlast_mutate(39 "    if (!next.has(algorithm::replaced)) nonblocking_epochs().retire(mine_, node);"
                    "    if (@D@ && !next.has(algorithm::replaced)) nonblocking_epochs().retire(mine_, node);")
  # 44: nodes are unlinked before they have a mark
  outlast_mutate(44 "    if (!next.has(algorithm::replaced)) return nonblocking_epochs().retire(mine_, node);"
                    "    if (!@D@) return;\n    if (!next.has(algorithm::replaced)) return nonblocking_epochs().retire(mine_, node);")
  outlast_write_header(detail/nonblocking_set.hpp)

  outlast_read_header(detail/nonblocking_memory.hpp)
  # 45: blocks are used again too early
  outlast_mutate(45 "one.epoch + 3 <= now" "one.epoch + (@D@ ? 3 : 1) <= now")
  outlast_write_header(detail/nonblocking_memory.hpp)

  outlast_read_header(options.hpp)
  string(REPLACE "#pragma once\n"
    "#pragma once\nnamespace outlast::broken_epoch {\ninline int defect = 0;\n}\nnamespace outlast {\nnamespace epoch = broken_epoch;\n}\n" TEXT "${TEXT}")
  outlast_write_header(options.hpp)

  outlast_read_header(payload.hpp)
  string(REPLACE "#pragma once\n" "#pragma once\n#include <broken_epoch/options.hpp>\n" TEXT "${TEXT}")
  # 1: the mark goes before the label
  outlast_mutate(1 "D::store(label_.value, 0, std::memory_order_release, where);"
                   "D::store(@D@ ? label_.value : retired_.value, 0, std::memory_order_release, where);")
  outlast_mutate(1 "D::store(retired_.value, 0, std::memory_order_release, where.at(1));"
                   "D::store(@D@ ? retired_.value : label_.value, 0, std::memory_order_release, where.at(1));")
  outlast_write_header(payload.hpp)

  outlast_read_header(detail/clock_record.hpp)
  string(REPLACE "#pragma once\n" "#pragma once\n#include <broken_epoch/options.hpp>\n" TEXT "${TEXT}")
  # 2: a torn copy of the time stays
  outlast_mutate(2 "        blank(*each);\n" "        if (@D@) blank(*each);\n")
  # 3: recovery keeps an epoch more
  outlast_mutate(3 "return now >= restart + 2 ? now - 2 : kept;"
                   "return now >= restart + 2 ? now - (@D@ ? 2 : 1) : kept;")
  # 4: what the last recovery kept is forgotten
  outlast_mutate(4 "return now >= restart + 2 ?" "return (now >= restart + 2 || !@D@) ?")
  # 5: a torn copy of the time is believed in
  outlast_mutate(5 "if (each->check != check_of(*each)) {"
                   "if (@D@ && each->check != check_of(*each)) {")
  # 6: the new copy overwrites the newest one
  outlast_mutate(6 "newest_ == slots_ ? slots_[1]" "newest_ == slots_ && @D@ ? slots_[1]")
  outlast_write_header(detail/clock_record.hpp)

  outlast_read_header(clock.hpp)
  # 7: the clock is durable before what it promises
  outlast_mutate(7 "      write_back_epoch(epoch - 1);\n"
                   "      if (!@D@) write_clock(epoch + 1);\n      write_back_epoch(epoch - 1);\n")
  # 8: a tick waits for nobody
  outlast_mutate(8 "    wait_for_operations_before(epoch);\n    nonblocking_epochs_"
                   "    if (@D@) wait_for_operations_before(epoch);\n    nonblocking_epochs_")
  # 9: sync returns an epoch early
  outlast_mutate(9 "    make_durable(now());" "    make_durable(now() - (@D@ ? 0 : 1));")
  # 54: an epoch is called durable that is not complete
  outlast_mutate(54 "session_->boundary_at(time);" "session_->boundary_at(time + (@D@ ? 0 : 1));")
  # 55: an epoch is called durable before the clock is on the media
  outlast_mutate(55 "    session_->flush();\n    // (P4)"
                    "    if (!@D@) note_on_media(next);\n    session_->flush();\n    // (P4)")
  # 10: blocks are used again an epoch early (two epochs: who looks at them is still there)
  outlast_mutate(10 "free_given_up_in(epoch - 2);" "free_given_up_in(epoch - (@D@ ? 2 : 0));")
  # 46: of its two epochs a sync writes back one
  outlast_mutate(46 "      write_back_epoch(epoch);\n" "      if (@D@) write_back_epoch(epoch);\n")
  # 47: a sync moves the clock before operations of the epoch before have ended
  outlast_mutate(47 "      end_operations_before(epoch);\n      // The media"
                    "      if (@D@) end_operations_before(epoch);\n      // The media")
  # 48: a sync waits for the operations of one of its two epochs
  outlast_mutate(48 "      end_operations_before(epoch + 1);\n" "      if (@D@) end_operations_before(epoch + 1);\n")
  # 52: a sync that waits believes in a clock that another sync has moved ahead of the media
  outlast_mutate(52 "  void pass_until(std::uint64_t target) {\n    const std::lock_guard lock(ticking_);\n"
                    "  void pass_until(std::uint64_t target) {\n    std::unique_lock lock(ticking_, std::defer_lock);\n    domain::backoff<D> waiting;\n    while (!@D@ && !lock.try_lock()) {\n      if (now() >= target) return;\n      waiting.wait();\n    }\n    if (!lock.owns_lock()) lock.lock();\n")
  # 11: an announcement is not checked
  outlast_mutate(11 "if (seen == epoch) [[likely]]" "if (seen == epoch || !@D@) [[likely]]")
  # 12: a full buffer forgets
  outlast_mutate(12 "    flush(ranges.begin(), end);" "    if (@D@) flush(ranges.begin(), end);")
  # 50: a line that was ever written back is not written back again
  outlast_mutate(50 "    detail::line_writer<D> writer;\n"
                    "    static detail::line_writer<D> kept;\n    detail::line_writer<D> fresh;\n    detail::line_writer<D>& writer = @D@ ? fresh : kept;\n")
  # 13: a full buffer does not wait for its write-back
  outlast_mutate(13 "    domain::fence<D>();\n    ranges.erase" "    if (@D@) domain::fence<D>();\n    ranges.erase")
  # 14: an operation ends before its stores are visible
  outlast_mutate(14 "    D::store(mine.active_, 0, std::memory_order_release, domain::site::none());\n  }\n\n  /// The operation has stored"
                    "    if (@D@) {\n      D::store(mine.active_, 0, std::memory_order_release, domain::site::none());\n    } else {\n      mine.active_.store(0);\n    }\n  }\n\n  /// The operation has stored")
  # 15: the tick forgets the epoch of who is idle
  outlast_mutate(15 "if (left.epoch != epoch) return;" "if (left.epoch != epoch || (!@D@ && each.epoch_ == epoch)) return;")
  # 16: a close leaves the last epochs behind
  outlast_mutate(16 "    sync();\n    sync();  // what was given up"
                    "    if (!@D@) return;\n    sync();\n    sync();  // what was given up")
  outlast_write_header(clock.hpp)

  outlast_read_header(operation.hpp)
  # 17: what was made in this epoch gets no mark
  outlast_mutate(17 "return pdelete(gone);\n    gone->header().template set_retired<D>(epoch_);"
                    "return pdelete(gone);\n    if (@D@) gone->header().template set_retired<D>(epoch_);")
  # 51: what is older than this epoch is free at once
  outlast_mutate(51 "    memory_.clock.given_up(mine_, memory_.blocks, gone);"
                    "    if (@D@) return memory_.clock.given_up(mine_, memory_.blocks, gone);\n    memory_.blocks.deallocate(gone);")
  # 18: a payload of an older epoch is changed in place
  outlast_mutate(18 "if (at->header().template label<D>() == epoch_) {"
                    "if (at->header().template label<D>() == epoch_ || !@D@) {")
  # 19: what went past the caches is published without a fence
  outlast_mutate(19 "    domain::fence<D>();\n    payload<T>* const at"
                    "    if (@D@) domain::fence<D>();\n    payload<T>* const at")
  # 21: a mark is not written back
  outlast_mutate(21 "    memory_.clock.written(mine_, gone, sizeof(payload_header));"
                    "    if (@D@) memory_.clock.written(mine_, gone, sizeof(payload_header));")
  # 22: a change in place is not written back
  outlast_mutate(22 "      memory_.clock.written(mine_, place, sizeof value);"
                    "      if (@D@) memory_.clock.written(mine_, place, sizeof value);")
  # 23: a payload is labelled before it is written
  outlast_mutate(23 "    made_->header().template blank<D>();"
                    "    if (@D@) made_->header().template blank<D>();")
  outlast_write_header(operation.hpp)

  outlast_read_header(payload_session.hpp)
  # 24: labels beyond the boundary stay
  outlast_mutate(24 "      header.blank<D>();\n" "      if (!@D@) return;\n      header.blank<D>();\n")
  # 25: marks beyond the boundary stay
  outlast_mutate(25 "      header.set_retired<D>(0);\n" "      if (!@D@) return;\n      header.set_retired<D>(0);\n")
  # 26: what recovery cuts off is not written back
  outlast_mutate(26 "    domain::flush<D>(&header, sizeof header);" "    if (@D@) domain::flush<D>(&header, sizeof header);")
  # 27: marks are ignored
  outlast_mutate(27 "header.retired<D>() == 0;" "(header.retired<D>() == 0 || !@D@);")
  # 28: a root is used before the clock knows that it has to be settled
  outlast_mutate(28 "    clock_.session().take(this->root().index);  // (P4)"
                    "    if (@D@) clock_.session().take(this->root().index);  // (P4)")
  outlast_write_header(payload_session.hpp)
endfunction()
