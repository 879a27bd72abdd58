outlast_headers(outlast_library algorithm
  bucket_index.hpp
  chain.hpp
  external_tree.hpp
  height_source.hpp
  split_order.hpp
  tower_index.hpp
  tree_probes.hpp
  value_slot.hpp
)
