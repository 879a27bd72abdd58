// What a map of strings shows ends with the transaction: it is copied inside of it.
#include <outlast/containers/hash_map.hpp>
#include <outlast/tx/transient.hpp>

#include <cstddef>
#include <string>

using map = outlast::containers::hash_map<std::string, std::string>;

void ask(outlast::tx::transient& manager, outlast::tx::root<map> named) {
#ifdef OUTLAST_GOOD
  (void)manager.read(named, [](const map& m) { return m.get("key")->size(); });
#else
  (void)manager.read(named, [](const map& m) { return m.get("key"); });
#endif
}
