// Epochs of pools under domain::native, compiled once.
#include <outlast/domain/native.hpp>
#include <outlast/reclaim/epochs.hpp>

namespace outlast::reclaim {

template class epochs<domain::native>;

}  // namespace outlast::reclaim
