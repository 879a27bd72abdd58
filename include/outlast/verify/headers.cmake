outlast_headers(outlast_verify verify
  catalogue.hpp
  eager_epochs.hpp
  explorer.hpp
  fiber.hpp
  history.hpp
  machine.hpp
  map_subject.hpp
  memory.hpp
  mutants.hpp
  oracle.hpp
  random.hpp
  report.hpp
  simulated.hpp
  store_buffers.hpp
  strategy.hpp
  subject.hpp
)
