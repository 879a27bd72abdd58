# What can be measured: every structure with every policy over every domain. A structure is a line here
# and an adapter in bench/adapters/<structure>.hpp; a policy is its name and its type; a domain is the
# name of a type in outlast::domain.

if(OUTLAST_TESTS)
  set(all_by_default OFF)
else()
  set(all_by_default ON)
endif()
option(OUTLAST_BENCH_ALL "Measure every combination, not only the representative ones" ${all_by_default})

set(OUTLAST_BENCH_STRUCTURES harris_list hash_table)

# The baseline, over `process` alone.
set(OUTLAST_BENCH_TWIN "transient|durable::transient<Domain>")

# Built always.
set(OUTLAST_BENCH_REPRESENTATIVES
    "flit<adjacent,automatic>|durable::flit<durable::tag::adjacent, durable::automatic, Domain>")

# Built with OUTLAST_BENCH_ALL; otherwise known by name and left out of experiments.
set(OUTLAST_BENCH_OTHERS
    "flit<hashed<1048576>,automatic>|durable::flit<durable::tag::hashed<1048576>, durable::automatic, Domain>"
    "flit<line<1048576>,automatic>|durable::flit<durable::tag::line<1048576>, durable::automatic, Domain>"
    "flit<always,automatic>|durable::flit<durable::tag::always, durable::automatic, Domain>"
    "flit<adjacent,nvtraverse>|durable::flit<durable::tag::adjacent, durable::nvtraverse, Domain>"
    "flit<hashed<1048576>,nvtraverse>|durable::flit<durable::tag::hashed<1048576>, durable::nvtraverse, Domain>"
    "flit<always,nvtraverse>|durable::flit<durable::tag::always, durable::nvtraverse, Domain>"
    "flit<adjacent,manual>|durable::flit<durable::tag::adjacent, durable::manual, Domain>"
    "flit<hashed<1048576>,manual>|durable::flit<durable::tag::hashed<1048576>, durable::manual, Domain>"
    "flit<always,manual>|durable::flit<durable::tag::always, durable::manual, Domain>"
    "izraelevitz|durable::izraelevitz<Domain>")

set(OUTLAST_BENCH_DOMAINS process adr)

# Splits "name|type" of a policy and derives an identifier from the name.
macro(outlast_bench_split policy)
  string(REGEX REPLACE "[|].*" "" OUTLAST_BENCH_POLICY_NAME "${policy}")
  string(REGEX REPLACE ".*[|]" "" OUTLAST_BENCH_POLICY_TYPE "${policy}")
  string(MAKE_C_IDENTIFIER
         "${OUTLAST_BENCH_STRUCTURE}_${OUTLAST_BENCH_POLICY_NAME}_${OUTLAST_BENCH_DOMAIN}" id)
  string(REGEX REPLACE "__+" "_" OUTLAST_BENCH_ID "${id}")
endmacro()

# One combination: a source of its own, or its name alone.
macro(outlast_bench_add policy built)
  outlast_bench_split("${policy}")
  if(${built})
    set(source ${directory}/${OUTLAST_BENCH_ID}.cpp)
    configure_file(${PROJECT_SOURCE_DIR}/bench/combination.cpp.in ${source} @ONLY)
    list(APPEND sources ${source})
    string(APPEND OUTLAST_BENCH_DECLARATIONS "registration ${OUTLAST_BENCH_ID}_registration();\n")
    string(APPEND OUTLAST_BENCH_CALLS "  all.add(${OUTLAST_BENCH_ID}_registration());\n")
  else()
    string(APPEND OUTLAST_BENCH_CALLS
           "  all.add({{\"${OUTLAST_BENCH_STRUCTURE}\", \"${OUTLAST_BENCH_POLICY_NAME}\", "
           "\"${OUTLAST_BENCH_DOMAIN}\"}, {}, {}});\n")
  endif()
endmacro()

# Writes the sources into <directory> and lists them in OUTLAST_BENCH_COMBINATIONS.
function(outlast_bench_generate directory)
  set(sources)
  set(OUTLAST_BENCH_DECLARATIONS "")
  set(OUTLAST_BENCH_CALLS "")
  foreach(OUTLAST_BENCH_STRUCTURE IN LISTS OUTLAST_BENCH_STRUCTURES)
    foreach(OUTLAST_BENCH_DOMAIN IN LISTS OUTLAST_BENCH_DOMAINS)
      if(OUTLAST_BENCH_DOMAIN STREQUAL "process")
        outlast_bench_add("${OUTLAST_BENCH_TWIN}" ON)
      endif()
      foreach(policy IN LISTS OUTLAST_BENCH_REPRESENTATIVES)
        outlast_bench_add("${policy}" ON)
      endforeach()
      foreach(policy IN LISTS OUTLAST_BENCH_OTHERS)
        outlast_bench_add("${policy}" ${OUTLAST_BENCH_ALL})
      endforeach()
    endforeach()
  endforeach()
  configure_file(${PROJECT_SOURCE_DIR}/bench/all_combinations.cpp.in
                 ${directory}/all_combinations.cpp @ONLY)
  list(APPEND sources ${directory}/all_combinations.cpp)
  set(OUTLAST_BENCH_COMBINATIONS ${sources} PARENT_SCOPE)
endfunction()
