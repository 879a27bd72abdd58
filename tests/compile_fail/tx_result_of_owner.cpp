// The answer of a transaction may come from another replica and thread: it is a plain value.
#include <outlast/tx/transient.hpp>

#include <string>

#ifdef OUTLAST_GOOD
using answer = int;
#else
using answer = std::string;
#endif

void ask(outlast::tx::transient& manager) {
  (void)manager.update([](outlast::tx::view) { return answer(); });
}
