// The transformation that makes any linearizable structure durable, at its full price. [Izr16]
#pragma once

#include <outlast/domain/native.hpp>
#include <outlast/durable/policy.hpp>

#include <string>

namespace outlast::durable {

/// The original transformation, for comparison: no tags, and a wait for each load. [Izr16]
template <domain::persistence_domain D = domain::native>
struct izraelevitz : flit<tag::always, each_access, D> {
  static std::string name() { return "izraelevitz"; }
};

}  // namespace outlast::durable
