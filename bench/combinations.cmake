# What can be measured: every structure with every policy over every domain. A structure is a line here
# and an adapter in bench/adapters/<structure>.hpp; a policy is its name and its type; a domain is the
# name of a type in outlast::domain.

option(OUTLAST_BENCH_ALL "Measure every combination, not only the representative ones" OFF)

set(OUTLAST_BENCH_STRUCTURES harris_list hash_table natarajan_tree skiplist michael_scott_queue stack)

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
    "link_and_persist<automatic>|durable::link_and_persist<durable::automatic, Domain>"
    "flit<hashed<1048576>,nvtraverse>|durable::flit<durable::tag::hashed<1048576>, durable::nvtraverse, Domain>"
    "flit<always,nvtraverse>|durable::flit<durable::tag::always, durable::nvtraverse, Domain>"
    "link_and_persist<nvtraverse>|durable::link_and_persist<durable::nvtraverse, Domain>"
    "flit<adjacent,manual>|durable::flit<durable::tag::adjacent, durable::manual, Domain>"
    "flit<hashed<1048576>,manual>|durable::flit<durable::tag::hashed<1048576>, durable::manual, Domain>"
    "flit<always,manual>|durable::flit<durable::tag::always, durable::manual, Domain>"
    "link_and_persist<manual>|durable::link_and_persist<durable::manual, Domain>"
    "izraelevitz|durable::izraelevitz<Domain>")

set(OUTLAST_BENCH_DOMAINS process adr)

# Sizes of the table of counters, for two structures, over `adr` alone. [Wei22, Figure 5]
set(OUTLAST_BENCH_TABLE_SIZES hash_table natarajan_tree)
set(OUTLAST_BENCH_TABLES
    "flit<hashed<4096>,automatic>|durable::flit<durable::tag::hashed<4096>, durable::automatic, Domain>"
    "flit<hashed<65536>,automatic>|durable::flit<durable::tag::hashed<65536>, durable::automatic, Domain>"
    "flit<hashed<16777216>,automatic>|durable::flit<durable::tag::hashed<16777216>, durable::automatic, Domain>"
    "flit<hashed<67108864>,automatic>|durable::flit<durable::tag::hashed<67108864>, durable::automatic, Domain>"
    "flit<hashed<4096,one_per_word>,automatic>|durable::flit<durable::tag::hashed<4096, durable::tag::counters::one_per_word>, durable::automatic, Domain>"
    "flit<hashed<1048576,one_per_word>,automatic>|durable::flit<durable::tag::hashed<1048576, durable::tag::counters::one_per_word>, durable::automatic, Domain>")

# Mirror's figures: the policy itself, and over slowed media what it is compared with. [Fri21]
set(OUTLAST_BENCH_MIRRORED harris_list hash_table natarajan_tree skiplist)
set(OUTLAST_BENCH_MIRROR "mirror|durable::mirror<Domain>")
set(OUTLAST_BENCH_SLOWED
    ${OUTLAST_BENCH_MIRROR}
    "flit<adjacent,automatic>|durable::flit<durable::tag::adjacent, durable::automatic, Domain>"
    "flit<always,nvtraverse>|durable::flit<durable::tag::always, durable::nvtraverse, Domain>")

# Sets without durable links: in the place of a policy. [Zur19]
set(OUTLAST_BENCH_SCHEME_STRUCTURES harris_list hash_table natarajan_tree skiplist)
set(OUTLAST_BENCH_SCHEMES
    "link_free|sets::link_free<Domain>"
    "soft|sets::soft<Domain>"
    "soft_in_place|sets::soft_in_place<Domain>")

# With values: as key-value stores are compared.
set(OUTLAST_BENCH_MAPS hash_map)
set(OUTLAST_BENCH_MAP_OTHERS
    ${OUTLAST_BENCH_MIRROR}
    "mirror<in_place>|durable::mirror<Domain, durable::mirrored_values::in_place>"
    ${OUTLAST_BENCH_SCHEMES})

# Structures that others have too: built with OUTLAST_BENCH_ALL where their library is installed.
set(OUTLAST_BENCH_LIBCDS harris_list hash_table natarajan_tree skiplist)
find_library(OUTLAST_LIBCDS cds)
set(OUTLAST_BENCH_LIBPMEMOBJ hash_map)
find_library(OUTLAST_LIBPMEMOBJ pmemobj)

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

# Several policies with the current structure over <domain>.
macro(outlast_bench_add_over domain policies built)
  set(OUTLAST_BENCH_DOMAIN ${domain})
  if("${domain}" STREQUAL "slowed<adr>")
    set(OUTLAST_BENCH_DOMAIN_TYPE "slowed<domain::adr>")
  else()
    set(OUTLAST_BENCH_DOMAIN_TYPE "domain::${domain}")
  endif()
  foreach(policy IN LISTS ${policies})
    outlast_bench_add("${policy}" ${built})
  endforeach()
endmacro()

# A peer: a function that adds its combinations, or their names alone.
macro(outlast_bench_add_peer name domain library structures)
  if(${library} AND OUTLAST_BENCH_ALL)
    string(APPEND OUTLAST_BENCH_CALLS "  add_${name}(all);\n")
  else()
    foreach(structure IN LISTS ${structures})
      string(APPEND OUTLAST_BENCH_CALLS
             "  all.add({{\"${structure}\", \"${name}\", \"${domain}\"}, {}, {}});\n")
    endforeach()
  endif()
endmacro()

# Writes the sources into <directory> and lists them in OUTLAST_BENCH_COMBINATIONS.
function(outlast_bench_generate directory)
  set(sources)
  set(OUTLAST_BENCH_DECLARATIONS "")
  set(OUTLAST_BENCH_CALLS "")
  foreach(OUTLAST_BENCH_STRUCTURE IN LISTS OUTLAST_BENCH_STRUCTURES)
    foreach(domain IN LISTS OUTLAST_BENCH_DOMAINS)
      if(domain STREQUAL "process")
        outlast_bench_add_over(process OUTLAST_BENCH_TWIN ON)
      endif()
      outlast_bench_add_over(${domain} OUTLAST_BENCH_REPRESENTATIVES ON)
      outlast_bench_add_over(${domain} OUTLAST_BENCH_OTHERS ${OUTLAST_BENCH_ALL})
      if(OUTLAST_BENCH_STRUCTURE IN_LIST OUTLAST_BENCH_MIRRORED)
        outlast_bench_add_over(${domain} OUTLAST_BENCH_MIRROR ${OUTLAST_BENCH_ALL})
      endif()
      if(OUTLAST_BENCH_STRUCTURE IN_LIST OUTLAST_BENCH_SCHEME_STRUCTURES)
        outlast_bench_add_over(${domain} OUTLAST_BENCH_SCHEMES ${OUTLAST_BENCH_ALL})
      endif()
    endforeach()
    if(OUTLAST_BENCH_STRUCTURE IN_LIST OUTLAST_BENCH_TABLE_SIZES)
      outlast_bench_add_over(adr OUTLAST_BENCH_TABLES ${OUTLAST_BENCH_ALL})
    endif()
    if(OUTLAST_BENCH_STRUCTURE IN_LIST OUTLAST_BENCH_MIRRORED)
      outlast_bench_add_over("slowed<adr>" OUTLAST_BENCH_SLOWED ${OUTLAST_BENCH_ALL})
    endif()
  endforeach()
  foreach(OUTLAST_BENCH_STRUCTURE IN LISTS OUTLAST_BENCH_MAPS)
    outlast_bench_add_over(process OUTLAST_BENCH_TWIN ON)
    outlast_bench_add_over(adr OUTLAST_BENCH_REPRESENTATIVES ON)
    outlast_bench_add_over(adr OUTLAST_BENCH_MAP_OTHERS ${OUTLAST_BENCH_ALL})
  endforeach()
  outlast_bench_add_peer(libcds process OUTLAST_LIBCDS OUTLAST_BENCH_LIBCDS)
  outlast_bench_add_peer(libpmemobj adr OUTLAST_LIBPMEMOBJ OUTLAST_BENCH_LIBPMEMOBJ)
  configure_file(${PROJECT_SOURCE_DIR}/bench/all_combinations.cpp.in
                 ${directory}/all_combinations.cpp @ONLY)
  list(APPEND sources ${directory}/all_combinations.cpp)
  set(OUTLAST_BENCH_COMBINATIONS ${sources} PARENT_SCOPE)
endfunction()
