// Which functions of the library made a call.
#pragma once

#include <string>

namespace outlast::test::files {

/// The functions of the library above the caller, the innermost first, as "redo_log::create <
/// create_log"; at most `most` of them.
[[nodiscard]] std::string call_site(unsigned most = 3);

}  // namespace outlast::test::files
