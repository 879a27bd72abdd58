outlast_headers(outlast_library algorithm
  chain.hpp
  external_tree.hpp
  height_source.hpp
  sorted_map_operations.hpp
  split_order.hpp
  tower_index.hpp
  tree_probes.hpp
  value_slot.hpp
)
