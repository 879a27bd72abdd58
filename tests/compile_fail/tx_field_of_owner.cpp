// A field is copied from replica to replica byte by byte: what owns something cannot be one.
#include <outlast/tx/field.hpp>

#include <string>

#ifdef OUTLAST_GOOD
using text = char;
#else
using text = std::string;
#endif

bool is_set(const outlast::tx::field<text>& name) { return name.get() != text(); }
