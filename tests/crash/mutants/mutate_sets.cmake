# The sentences of docs/papers/durable-sets.md: see mutate.cmake.

function(outlast_mutate_sets to)
  set(LAYER sets)
  set(from ${PROJECT_SOURCE_DIR}/include/outlast/sets)
  foreach(HEADER IN ITEMS schemes.hpp baselines/soft_in_place.hpp basic_list.hpp link_free_list.hpp soft_list.hpp
          detail/set_towers.hpp detail/superseded_lines.hpp detail/tree_blocks.hpp
          detail/volatile_blocks.hpp detail/sorted_ranges.hpp)
    outlast_read_header(${HEADER})
    outlast_write_header(${HEADER})
  endforeach()

  outlast_read_header(detail/node_state.hpp)
  string(REPLACE "#pragma once\n"
    "#pragma once\nnamespace outlast::broken_sets {\ninline int defect = 0;\n}\n" TEXT "${TEXT}")
  outlast_write_header(detail/node_state.hpp)

  outlast_read_header(detail/stored_bytes.hpp)
  string(REPLACE "#pragma once\n" "#pragma once\n#include <broken_sets/detail/node_state.hpp>\n" TEXT "${TEXT}")
  # 2: key and value are no releases
  outlast_mutate(2 "words[i], std::memory_order_release"
                   "words[i], @D@ ? std::memory_order_release : std::memory_order_relaxed")
  outlast_write_header(detail/stored_bytes.hpp)

  outlast_read_header(detail/set_node.hpp)
  # 1: the key comes before the node_state is cleared
  outlast_mutate(1 "explicit stored_state(site where) {\n    D::store("
                   "explicit stored_state(site where) {\n    if (@D@) D::store(")
  outlast_mutate(1 "key(its_key, where), value(its_value, where) {}"
                   "key(its_key, where), value(its_value, where) {\n    if (!@D@) this->store_state(node_state::none(), where);\n  }")
  # 22: a thread that comes late makes live again what is dead
  outlast_mutate(22 "    std::uint64_t nothing = 0;\n"
                    "    if (!@D@) {\n      store_state(node_state::live(stamp), where);\n      return;\n    }\n    std::uint64_t nothing = 0;\n")
  outlast_write_header(detail/set_node.hpp)

  outlast_read_header(detail/set_operation.hpp)
  # 3: a node says live before it is linked
  outlast_mutate(3 "return memory_.nodes().make(key, value);"
                   "Node* const made = memory_.nodes().make(key, value);\n    if (!@D@) (void)with_stamp(*made, site::current());\n    drawn_ = memory_.stamps().draw(StampOf{}(key));\n    return made;")
  # 4: the stamp is drawn before the node is linked
  outlast_mutate(4 "node.store_live(memory_.stamps().draw(StampOf{}(node.key.get())), where);"
                   "node.store_live(@D@ || drawn_ == 0 ? memory_.stamps().draw(StampOf{}(node.key.get())) : drawn_, where);")
  outlast_mutate(4 "  memory& memory_;\n  typename" "  std::uint64_t drawn_ = 0;\n  memory& memory_;\n  typename")
  # 5: whoever finds a node that somebody else has made live relies on it as it is
  outlast_mutate(5 "    const node_state said = with_stamp(node, where);\n"
                   "    const bool fresh = node.state().is_none();\n    const node_state said = with_stamp(node, where);\n    if (!@D@ && !fresh) return;\n")
  # 6: "durable" is noted before the flush
  outlast_mutate(6 "    domain::persist_before_return<D>("
                   "    if (!@D@) node.note_durable(said);\n    domain::persist_before_return<D>(")
  # 7: a lookup passes erased nodes as they are
  outlast_mutate(7 "    if (!next.has(algorithm::replaced)) bury(node, where);"
                   "    if (@D@ && !next.has(algorithm::replaced)) bury(node, where);")
  # 8: an erased node is unlinked before it is buried
  outlast_mutate(8 "    if (!next.has(algorithm::replaced)) {\n      bury(node, where);"
                   "    if (!next.has(algorithm::replaced)) {\n      if (@D@) bury(node, where);")
  # 9: a node is superseded before its replacement is durable
  outlast_mutate(9 "    confirm(fresh, where.at(1));" "    if (@D@) confirm(fresh, where.at(1));")
  # 10: a replaced node is unlinked without being superseded
  outlast_mutate(10 "    old.store_state(node_state::superseded(), where.at(2));"
                    "    if (@D@) old.store_state(node_state::superseded(), where.at(2));")
  # 11: the blocks of dead nodes are used again at once
  outlast_mutate(11 "    lines_.settle();" "    if (@D@) lines_.settle();")
  # 12: stamps begin anew
  outlast_mutate(12 "counts_[i].raise_to(stamp," "counts_[i].raise_to(@D@ ? stamp : 0,")
  # 23: key and value are not flushed where they lie out of line
  outlast_mutate(23 "domain::flush<D>(its.data()" "if (@D@) domain::flush<D>(its.data()")
  # 18: a lookup of SOFT answers with what is not durable yet
  outlast_mutate(18 "if (its == phase::not_yet) return" "if (@D@ && its == phase::not_yet) return")
  # 19: it forgets what was before
  outlast_mutate(19 "return {before, onward(next)}" "return {@D@ ? before : nullptr, onward(next)}")
  # 20: it believes in an erasure that is not durable yet
  outlast_mutate(20 "if (its == phase::over) return"
                    "if (its == phase::over || (!@D@ && next.has(algorithm::deleted) && !next.has(algorithm::replaced))) return")
  outlast_write_header(detail/set_operation.hpp)

  outlast_read_header(detail/tree_operation.hpp)
  # 32: a lookup of SOFT forgets which version a leaf has replaced
  outlast_mutate(32 "if (its == phase::not_yet) return static_cast"
                    "if (its == phase::not_yet && !@D@) return nullptr;\n    if (its == phase::not_yet) return static_cast")
  outlast_write_header(detail/tree_operation.hpp)

  outlast_read_header(basic_tree.hpp)
  string(REPLACE "<outlast/algorithm/external_tree.hpp>" "<broken_sets/detail/external_tree.hpp>"
         TEXT "${TEXT}")
  string(REGEX REPLACE "algorithm::(external_tree|to_leaf)" "detail::\\1" TEXT "${TEXT}")
  outlast_write_header(basic_tree.hpp)

  # The core of trees, for the sets alone.
  outlast_read_header(../algorithm/external_tree.hpp)
  string(REPLACE "outlast::algorithm" "outlast::broken_sets::detail" TEXT "${TEXT}")
  string(REPLACE "#pragma once\n" "#pragma once\n#include <broken_sets/detail/node_state.hpp>\n" TEXT "${TEXT}")
  string(REPLACE "using durable::role;\n" "using durable::role;\nusing algorithm::value_slot;\n"
         TEXT "${TEXT}")
  # 30: a leaf is buried when it is taken out
  outlast_mutate(30 "    if (here.at.has(flagged)) bury(here.at);"
                    "    if (@D@ && here.at.has(flagged)) bury(here.at);")
  outlast_mutate(30 "    retire(probe, here, gone);\n" "    if (!@D@) bury(gone);\n    retire(probe, here, gone);\n")
  # 31: a leaf is flagged without being admitted
  outlast_mutate(31 "      admit(here.at);\n" "      if (@D@) admit(here.at);\n")
  # 33: a lookup of SOFT believes in a flag
  outlast_mutate(33 "      leaf* const seen = operation_.look(*here);"
                    "      if (!@D@ && at.has(flagged)) return false;\n      leaf* const seen = operation_.look(*here);")
  outlast_mutate(33 "    if constexpr (looks) return operation_.look("
                    "    if (looks && !@D@ && here.at.has(flagged)) return nullptr;\n    if constexpr (looks) return operation_.look(")
  # 34: a lookup passes a flagged leaf as it is
  outlast_mutate(34 "      bury(here.at);\n      return nullptr;" "      if (@D@) bury(here.at);\n      return nullptr;")
  outlast_mutate(34 "      at.has(flagged) ? bury(at) : confirm(at);"
                    "      if (@D@ || !at.has(flagged)) at.has(flagged) ? bury(at) : confirm(at);")
  outlast_write_header(detail/external_tree.hpp)

  outlast_read_header(detail/set_session.hpp)
  # 13: recovery looks at live nodes alone
  outlast_mutate(13 "if (!said.is_live() && !said.is_dead()) continue;"
                    "if (!said.is_live() && !(@D@ && said.is_dead())) continue;")
  # 24: recovery believes records whose bytes are not there
  outlast_mutate(24 "if (!each.is_whole(pool().pages())) {" "if (@D@ && !each.is_whole(pool().pages())) {")
  # 14: recovery prefers the older version
  outlast_mutate(14 "other.said.stamp() > it->said.stamp()"
                    "(@D@ ? other.said.stamp() > it->said.stamp() : other.said.stamp() < it->said.stamp())")
  # 15: what is outranked stays live
  outlast_mutate(15 "        each->store_state(node_state::superseded());" "        if (@D@) each->store_state(node_state::superseded());")
  # 16: a close leaves lines nonblocking for
  outlast_mutate(16 "    memory_.lines().settle();\n    return true;"
                    "    if (@D@) memory_.lines().settle();\n    return true;")
  # 17: recovery supersedes what is outranked by what is visible alone
  outlast_mutate(17 "left them in the caches.\n      domain::fence<D>();"
                    "left them in the caches.\n      if (@D@) domain::fence<D>();")
  outlast_write_header(detail/set_session.hpp)
endfunction()
