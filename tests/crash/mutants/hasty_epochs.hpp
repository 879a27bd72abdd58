// Reclaimers with one mistake each, for the verifier to find.
#pragma once

#include <outlast/verify/machine/eager_epochs.hpp>

namespace outlast::test {

/// Retires nodes immediately that should wait until their unlinking is durable.
template <domain::persistence_domain D>
class hasty_epochs : public verify::eager_epochs<D> {
 public:
  using verify::eager_epochs<D>::eager_epochs;
  void retire_when_durable(void* object, void* context, reclaim::disposer dispose,
                           base::callee::reference owner, const void*) {
    this->retire(object, context, dispose, owner);
  }
};

/// Takes an unlinking for durable although the wrong line was flushed.
template <domain::persistence_domain D>
class misled_epochs : public verify::eager_epochs<D> {
 public:
  using verify::eager_epochs<D>::eager_epochs;
  void retire_when_durable(void* object, void* context, reclaim::disposer dispose,
                           base::callee::reference owner, const void*) {
    verify::eager_epochs<D>::retire_when_durable(object, context, dispose, owner, object);
  }
};

}  // namespace outlast::test
