// Epochs of pools that find their domain out by themselves, compiled once.
#include <outlast/domain/native.hpp>
#include <outlast/reclaim/epochs.hpp>

namespace outlast::reclaim {

template class epochs<domain::native>;

}  // namespace outlast::reclaim
