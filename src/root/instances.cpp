// Sessions of roots in pools that find their domain out by themselves, compiled once.
#include <outlast/domain/native.hpp>
#include <outlast/root/root_session.hpp>

namespace outlast::roots {

template class root_session<domain::native>;
template class root_sessions<domain::native>;

}  // namespace outlast::roots
