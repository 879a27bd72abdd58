# Mutants of snapshots, strings and hash maps in transactions: see mutate.cmake. Requires: outlast_mutate_tx() has been
# called, whose headers these include.

# Reads a header of containers as one of the broken layer that uses the broken tx, with the number of the defect in
# reach.
macro(outlast_read_container HEADER)
  set(from ${PROJECT_SOURCE_DIR}/include/outlast/containers)
  set(LAYER containers)
  outlast_read_header(${HEADER})
  string(REPLACE "#pragma once\n" "#pragma once\n#include <broken_tx/options.hpp>\nnamespace outlast::broken_containers {\nusing broken_tx::defect;\n}\n" TEXT "${TEXT}")
  string(REPLACE "<outlast/tx/" "<broken_tx/" TEXT "${TEXT}")
  string(REGEX REPLACE "([^a-z_:])tx::" "\\1broken_tx::" TEXT "${TEXT}")
  # It has only declarations, and names that no mutant stores.
  string(REPLACE "<broken_containers/detail/stored_names.hpp>" "<outlast/containers/detail/stored_names.hpp>" TEXT "${TEXT}")
endmacro()
# A copy without a mutant.
function(outlast_copy_of_container HEADER)
  outlast_read_container(${HEADER})
  outlast_write_header(${HEADER})
endfunction()

function(outlast_mutate_tx_seq to)
  foreach(HEADER IN ITEMS detail/copied_entries.hpp detail/dropped_snapshots.hpp managed_map.hpp bplus_tree.hpp
          detail/bplus_page.hpp detail/stored.hpp detail/versioned.hpp impl/bplus_content.hpp)
    outlast_read_container(${HEADER})
    if(HEADER STREQUAL "bplus_tree.hpp")
      # 101: a page that a snapshot sees is changed in place
      outlast_mutate(101 "if (!versions_.is_seen(at->born)) return at;"
                         "if (!@D@ || !versions_.is_seen(at->born)) return at;")
      # 102: it is copied, and its earlier self is freed
      outlast_mutate(102 "    link = made;\n    versions_.retire(at, at->born);"
                         "    link = made;\n    if (@D@) versions_.retire(at, at->born); else broken_tx::free(at);")
    endif()
    outlast_write_header(${HEADER})
  endforeach()

  outlast_read_container(byte_string.hpp)
  # 103: bytes in a block are written past the transaction
  outlast_mutate(103 "broken_tx::write_bytes(block, bytes.data(), bytes.size());"
                     "if (@D@) broken_tx::write_bytes(block, bytes.data(), bytes.size()); else std::memcpy(block, bytes.data(), bytes.size());")
  # 104: those in the string itself
  outlast_mutate(104 "broken_tx::write_bytes(inside_, kept.data(), bytes.size());"
                     "if (@D@) broken_tx::write_bytes(inside_, kept.data(), bytes.size()); else std::memcpy(inside_, kept.data(), bytes.size());")
  outlast_write_header(byte_string.hpp)

  outlast_read_container(detail/bplus_item.hpp)
  # 106: a record that a snapshot sees is changed in place
  outlast_mutate(106 "if (!in.is_seen(before->born) && has_room" "if ((!@D@ || !in.is_seen(before->born)) && has_room")
  # 120: the value of a record is written past the transaction
  outlast_mutate(120 "      broken_tx::write_bytes(bytes + key.size(), value.data(), value.size());"
                     "      if (@D@) broken_tx::write_bytes(bytes + key.size(), value.data(), value.size()); else std::memcpy(bytes + key.size(), value.data(), value.size());")
  # 121: a record that another one replaces is lost (that of a string is found by byte_string's tests)
  outlast_mutate(121 "      in.retire(before, before->born);" "      if (@D@) in.retire(before, before->born);")
  outlast_write_header(detail/bplus_item.hpp)

  outlast_read_container(detail/versions.hpp)
  # 107: blocks that a snapshot sees are freed
  outlast_mutate(107 "if (!is_seen(born)) return" "if (!@D@ || !is_seen(born)) return")
  # 108: blocks that an older snapshot sees too are freed with the newer one
  outlast_mutate(108 "if (to == nullptr || born > to->at_) {" "if (!@D@ || to == nullptr || born > to->at_) {")
  # 109: a snapshot counts as the latest although the tree has changed since
  outlast_mutate(109 "return !changed_ && at + 1 == now_;" "return (!changed_ || !@D@) && at + 1 == now_;")
  outlast_write_header(detail/versions.hpp)

  outlast_read_container(impl/bplus_tree.hpp)
  # 110: a page above one that is copied is not
  outlast_mutate(110 "  header* at = own_root(order);\n  const inner* above"
                     "  header* at = @D@ ? own_root(order) : root_.get();\n  const inner* above")
  outlast_write_header(impl/bplus_tree.hpp)

  outlast_read_container(detail/hash_line.hpp)
  # 114: which places of a line are taken is written past the transaction
  outlast_mutate(114 "    tags_ = changed;"
                     "    if (@D@) tags_ = changed; else std::memcpy(static_cast<void*>(&tags_), &changed, sizeof changed);")
  outlast_write_header(detail/hash_line.hpp)

  outlast_read_container(hash_map.hpp)
  # 115: that lines were split is forgotten
  outlast_mutate(115 "    lines_ = whole + last;" "    if (@D@) lines_ = whole + last;")
  # 116: entries of a new line are left in the old one
  outlast_mutate(116 "      if (to == number) continue;" "      if (to == number || !@D@) continue;")
  # 117: a line that was given back stays in its chain
  outlast_mutate(117 "if (more != nullptr) first.set_next(nullptr);"
                     "if (more != nullptr && @D@) first.set_next(nullptr);")
  outlast_write_header(hash_map.hpp)

  outlast_read_container(managed_tree.hpp)
  # 111: snapshots of a process that is gone stay open
  outlast_mutate(111 "return t.close_all_snapshots(); });"
                     "return @D@ ? t.close_all_snapshots() : typename Tree::snapshot{}; });")
  # 112: dropped snapshots are forgotten, not closed
  outlast_mutate(112 "made.is_next_closed = !t.release_snapshot" "made.is_next_closed = @D@ && !t.release_snapshot")
  # 113: a snapshot is closed while an iterator has it
  outlast_mutate(113 "  latest_ = shared;" "  latest_ = shared; if (!@D@) { auto early = std::make_unique<held>(); early->which = shared->which; dropped_->note_open(); dropped_->drop(std::move(early)); }")
  outlast_write_header(managed_tree.hpp)
endfunction()
