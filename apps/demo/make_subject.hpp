// Instantiates the demo's children for one policy. One small source per policy includes it.
#pragma once

#include <apps/demo/child.hpp>
#include <apps/demo/measurement.hpp>
#include <apps/demo/subject.hpp>

#include <string_view>

namespace outlast::apps::demo {

template <class Kind, class Domain>
[[nodiscard]] subject make_subject(std::string_view choice) {
  using policy = typename Kind::template policy<Domain>;
  const auto ingest = [](exchange& shared) { ingestion<policy>(shared).run(); };
  return {choice, policy::name(), Domain::name(), Domain::flushes(), ingest, measure<Kind, Domain>};
}

}  // namespace outlast::apps::demo
