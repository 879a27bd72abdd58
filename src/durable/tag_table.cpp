#include <outlast/durable/tag_table.hpp>

namespace outlast::durable::detail {

alignas(base::cache_line_size)
    flit_counter tag_table[largest_tag_table_bytes / sizeof(flit_counter)];

}  // namespace outlast::durable::detail
