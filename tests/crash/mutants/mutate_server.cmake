# Copies of the key spaces of a server in which single steps can be switched off: see mutate.cmake. The copies have the
# namespace outlast::broken_server. What they include of a server is the original.

function(outlast_mutate_server to)
  set(LAYER server)
  set(to ${to}/broken_server)
  file(CONFIGURE OUTPUT ${to}/defect.hpp CONTENT
       "#pragma once\nnamespace outlast::broken_server {\ninline int defect = 0;\n}\n")
  foreach(HEADER IN ITEMS include/outlast/server/cached_items.hpp src/server/stored/stored_space.hpp
          src/server/stored/space_calls.hpp src/server/stored/space_parts.hpp src/server/stored/space_sweep.hpp
          src/server/stored/space_part_sweep.hpp)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${HEADER})
    file(READ ${PROJECT_SOURCE_DIR}/${HEADER} TEXT)
    get_filename_component(NAME ${HEADER} NAME)
    string(REPLACE "<src/server/stored/stored_space.hpp>" "<broken_server/stored_space.hpp>" TEXT "${TEXT}")
    string(REPLACE "namespace outlast::server {" "namespace outlast::broken_server {\nusing namespace server;" TEXT "${TEXT}")
    string(REPLACE "#pragma once\n" "#pragma once\n#include <broken_server/defect.hpp>\n#include <outlast/server/items.hpp>\n"
                   TEXT "${TEXT}")
    if(NAME STREQUAL "cached_items.hpp")
      # 210: replies are released in the epoch of their changes
      outlast_mutate(210 "return cache_.pool_clock().durable_epoch();"
                         "return @D@ ? cache_.pool_clock().durable_epoch() : cache_.pool_clock().now();")
      # 211: the changes of a transaction are changes of their own
      outlast_mutate(211 "{ cache_.together(work); }" "{\n    if (@D@) return cache_.together(work);\n    work();\n  }")
      # 212: a reply about an absent item does not wait for the erasure
      outlast_mutate(212 "return cache_.pool_clock().now(); }"
                         "return @D@ ? cache_.pool_clock().now() : cache_.pool_clock().durable_epoch(); }")
    elseif(NAME STREQUAL "space_calls.hpp")
      # 213: the changes of a transaction are batches of their own
      outlast_mutate(213 "  if (gate_.is_mine()) return work();" "  if (gate_.is_mine() || !@D@) return work();")
      # 214: a read does not wait for the token of a change that it has seen
      outlast_mutate(214 "  if (!options_.is_durable_at_return && here.is_changing" "  if (@D@ && !options_.is_durable_at_return && here.is_changing")
      # 215: a change does not lock its key
      outlast_mutate(215 "  if (!gate_.is_mine()) lock.lock();" "  if (@D@ && !gate_.is_mine()) lock.lock();")
      # 216: a read without the item does not wait for its erasure
      outlast_mutate(216 "    version = version_seen(hash, found.name);\n    if (found.is_live) {"
                         "    version = @D@ || found.is_live ? version_seen(hash, found.name) : 0;\n    if (found.is_live) {")
      # 221: a sync covers changes that are made meanwhile
      outlast_mutate(221 "  stored::require(store_.Write(durably, &empty), options_.path);\n  raise_durable(reached);"
                         "  stored::require(store_.Write(durably, &empty), options_.path);\n  raise_durable(@D@ ? reached : changes_.load(std::memory_order_acquire));")
      # 222: a change has its token before it is made
      outlast_mutate(222 "  of_.is_changing.store(1, std::memory_order_relaxed);"
                         "  of_.is_changing.store(1, std::memory_order_relaxed);\n  if (!@D@) early_ = in_.changes_.fetch_add(1, std::memory_order_acq_rel) + 1;")
      outlast_mutate(222 "  const token version = in_.changes_.fetch_add(1, std::memory_order_acq_rel) + 1;\n  of_.version"
                         "  const token version = @D@ ? in_.changes_.fetch_add(1, std::memory_order_acq_rel) + 1 : early_;\n  of_.version")
      # 223: a change that finds no item does not wait for its erasure
      outlast_mutate(223 "seen.version) : seen;" "seen.version) : (@D@ ? seen : item());")
      # 224: a transaction does not wait for what it has read
      outlast_mutate(224 "std::max(seen, store_pending());" "std::max(@D@ ? seen : 0, store_pending());")
    elseif(NAME STREQUAL "stored_space.hpp")
      outlast_mutate(222 "    stripe& of_;" "    stripe& of_;\n    token early_ = 0;")
    elseif(NAME STREQUAL "space_parts.hpp")
      # 217: an item is written before its parts
      outlast_mutate(217 "    stored::require(store_.Write({}, &batch), options_.path);"
                         "    if (!@D@) stored::require(store_.Put({}, name, *changes.find(name)->second), options_.path);\n    stored::require(store_.Write({}, &batch), options_.path);")
      # 218: an item that is stored again has the parts of the erased one
      outlast_mutate(218 "old.is_live ? old.set : 0" "old.is_live || !@D@ ? old.set : 0")
    elseif(NAME STREQUAL "space_sweep.hpp")
      # 219: a sweep removes an item that was stored again
      outlast_mutate(219 "  if (found.is_live || found.bytes.empty()) return false;"
                         "  if ((@D@ && found.is_live) || found.bytes.empty()) return false;")
    elseif(NAME STREQUAL "space_part_sweep.hpp")
      # 220: a sweep removes the parts of an item that is there
      outlast_mutate(220 "  if (found.set != of.set) return false;" "  if (found.set != of.set || !@D@) return false;")
    endif()
    file(CONFIGURE OUTPUT ${to}/${NAME} CONTENT "${TEXT}" @ONLY)
  endforeach()
endfunction()
