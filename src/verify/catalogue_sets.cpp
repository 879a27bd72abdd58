// The entries of sets whose links do not survive. Erased nodes are free at once: within the few
// operations of a scenario every block is used again.
#include <src/verify/by_its_ends.hpp>
#include <src/verify/catalogue_entries.hpp>

#include <outlast/sets/link_free_hash.hpp>
#include <outlast/sets/link_free_list.hpp>

namespace outlast::verify::detail {
namespace {

using domain::simulated;

template <class Value>
using link_free_list =
    sets::link_free_list<std::uint64_t, Value, simulated, std::less<std::uint64_t>, eager_epochs>;

/// All keys have one hash.
struct one_hash {
  std::uint64_t operator()(std::uint64_t) const noexcept { return 7; }
};
template <class Value, class Hash = base::default_hash<std::uint64_t>>
using link_free_hash = sets::link_free_hash<std::uint64_t, Value, simulated, Hash, eager_epochs>;

template <class Structure, class Options>
typename map_subject<Structure>::parts parts_of(const Options& options) {
  typename map_subject<Structure>::parts how;
  how.make = [options](auto& pool) {
    return std::make_unique<Structure>(pool, "subject", options);
  };
  how.blocks = [](Structure&) { return std::size_t{1}; };  // the root block
  return how;
}

/// An erasure, and somebody who passes it before it is durable, are frequent here.
constexpr scope one_key = {.threads = 2, .operations = 2, .keys = 1, .prefill = 1};

constexpr sets::link_free_options at_once = {.freed_at_once = 1};

sets::link_free_table_options table_of(std::size_t buckets) {
  sets::link_free_table_options options;
  options.freed_at_once = 1;
  options.buckets = buckets;
  options.growth_check_interval = 1;
  return options;
}

template <class Value>
void add_list(list& to, const std::string& name, scope within = {}) {
  using structure = link_free_list<Value>;
  add_map<structure>(to, name, parts_of<structure>(at_once), within);
}

template <class Value>
void add_hash(list& to, const std::string& name) {
  using structure = link_free_hash<Value>;
  add_map<structure>(to, name, parts_of<structure>(table_of(4)));
}

/// Lookups by order, or by walks.
template <class Structure, class Options>
void add_by(list& to, const std::string& name, const Options& options, const std::string& type,
            scope within = {}) {
  using enum map_operation;
  auto how = parts_of<Structure>(options);
  how.operations = {insert, insert, erase, erase, contains, contains, get, get};
  add_map<Structure>(to, name, how, within);
  to.back().type = type;
}

/// One key, and little else but updates of it.
void add_updates(list& to) {
  using enum map_operation;
  using structure = link_free_list<std::uint64_t>;
  auto how = parts_of<structure>(at_once);
  how.operations = {put, put, update, erase, get};
  add_map<structure>(to, "link_free_list_updates", how,
                     {.threads = 3, .operations = 2, .keys = 1, .prefill = 1});
}

void add_growing(list& to) {
  using structure = link_free_hash<lockfree::no_value>;
  auto how = parts_of<structure>(table_of(1));
  how.operations = {map_operation::insert};
  add_map<structure>(to, "link_free_hash_growing", how,
                     {.threads = 2, .operations = 4, .keys = 16, .prefill = 2});
}

void add_colliding(list& to) {
  using structure = link_free_hash<std::uint64_t, one_hash>;
  add_map<structure>(to, "link_free_hash_colliding", parts_of<structure>(table_of(2)));
}

}  // namespace

void add_sets(list& to) {
  add_list<std::uint64_t>(to, "link_free_list");
  add_list<lockfree::no_value>(to, "link_free_list_set");
  add_updates(to);
  using list_map = link_free_list<std::uint64_t>;
  add_by<by_its_ends<list_map>>(to, "link_free_list_ends", at_once, name_in_functions<list_map>());
  add_hash<std::uint64_t>(to, "link_free_hash");
  using table = link_free_hash<std::uint64_t>;
  add_by<by_walks<table>>(to, "link_free_hash_walks", table_of(4), name_in_functions<table>(),
                          one_key);
  add_growing(to);
  add_colliding(to);
  add_moving_map<list_map>(to, "link_free_list_moving", parts_of<list_map>(at_once));
}

}  // namespace outlast::verify::detail
