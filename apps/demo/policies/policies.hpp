// The policies of the demo. Each has a function and a source file of that name.
#pragma once

#include <apps/demo/subject.hpp>

namespace outlast::apps::demo {

[[nodiscard]] subject flit_adjacent();
[[nodiscard]] subject flit_hashed();
[[nodiscard]] subject flit_line();
[[nodiscard]] subject flit_always();
[[nodiscard]] subject flit_adjacent_adr();

}  // namespace outlast::apps::demo
