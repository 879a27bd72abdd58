outlast_headers(outlast_library db
  checkpoint.hpp
  comparator.hpp
  db.hpp
  detail/changes.hpp
  detail/key_order.hpp
  detail/premises.hpp
  detail/store.hpp
  env.hpp
  iterator.hpp
  memenv.hpp
  namespace.hpp
  options.hpp
  slice.hpp
  status.hpp
  transaction.hpp
  write_batch.hpp
)
