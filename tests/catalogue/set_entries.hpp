// The entries of sets whose links do not survive, for every scheme. Erased nodes are freed
// immediately: within the few operations of a scenario every block is used again.
#pragma once

#include <tests/catalogue/by_its_ends.hpp>
#include <tests/catalogue/by_strings.hpp>
#include <tests/catalogue/catalogue_entries.hpp>

#include <outlast/sets/basic_hash.hpp>
#include <outlast/sets/basic_list.hpp>
#include <outlast/sets/basic_tree.hpp>

#include <functional>
#include <memory>
#include <string>

namespace outlast::verify::detail {

using domain::simulated;

template <class Scheme, class Value>
using set_list =
    sets::basic_list<Scheme, std::uint64_t, Value, std::less<std::uint64_t>, eager_epochs>;

template <class Scheme, class Value>
using set_skiplist = sets::basic_list<Scheme, std::uint64_t, Value, std::less<std::uint64_t>,
                                      eager_epochs, sets::detail::towers>;

template <class Scheme, class Value>
using set_tree =
    sets::basic_tree<Scheme, std::uint64_t, Value, std::less<std::uint64_t>, eager_epochs>;

/// All keys have one hash.
struct one_hash {
  std::uint64_t operator()(std::uint64_t) const noexcept { return 7; }
};
template <class Scheme, class Value, class Hash = base::default_hash<std::uint64_t>>
using set_hash = sets::basic_hash<Scheme, std::uint64_t, Value, Hash, eager_epochs>;

template <class Structure, class Options>
typename map_subject<Structure>::parts parts_of(const Options& options) {
  typename map_subject<Structure>::parts how;
  how.make = [options](auto& pool) {
    return std::make_unique<Structure>(pool, "subject", options);
  };
  how.blocks = [](Structure&) { return std::size_t{1}; };  // the root block
  return how;
}

/// Erasures, and threads that pass them before they are durable, are frequent here.
inline constexpr scope one_key = {.threads = 2, .operations = 2, .keys = 1, .prefill = 1};

inline constexpr sets::set_options at_once = {.freed_at_once = 1};

inline sets::table_options table_of(std::size_t buckets) {
  sets::table_options options;
  options.freed_at_once = 1;
  options.buckets = buckets;
  options.growth_check_interval = 1;
  return options;
}

/// Each node of a skip list has a tower: towers are what there is to go wrong.
inline sets::skiplist_options towers_everywhere() {
  sets::skiplist_options options;
  options.freed_at_once = 1;
  options.highest = 3;
  options.branching = 1;
  return options;
}

/// Lookups by order, or by walks.
template <class Structure, class Base, class Options>
void add_by(list& to, const std::string& name, const Options& options, scope within = {}) {
  using enum map_operation;
  auto how = parts_of<Structure>(options);
  how.operations = {insert, insert, erase, erase, contains, contains, get, get};
  add_map<Structure>(to, name, how, within);
  to.back().type = name_in_functions<Base>();
}

/// One key, and little else but updates of it.
template <class Structure, class Options>
void add_updates(list& to, const std::string& name, const Options& options) {
  using enum map_operation;
  auto how = parts_of<Structure>(options);
  how.operations = {put, put, update, erase, get};
  add_map<Structure>(to, name, how, {.threads = 3, .operations = 2, .keys = 1, .prefill = 1});
}

template <class Structure>
void add_growing(list& to, const std::string& name) {
  auto how = parts_of<Structure>(table_of(1));
  how.operations = {map_operation::insert};
  add_map<Structure>(to, name, how, {.threads = 2, .operations = 4, .keys = 16, .prefill = 2});
}

/// Skip lists. Entries are called `<of>_skiplist...`.
template <class Scheme>
void add_skiplists_of(list& to, const std::string& of) {
  using map = set_skiplist<Scheme, std::uint64_t>;
  add_map<map>(to, of + "_skiplist", parts_of<map>(towers_everywhere()));
  add_updates<map>(to, of + "_skiplist_updates", towers_everywhere());
  add_by<by_its_ends<map>, map>(to, of + "_skiplist_ends", towers_everywhere());
}

/// Values out of line. Entries are called `<of>_..._strings`.
template <class Scheme>
void add_strings(list& to, const std::string& of) {
  using map = set_list<Scheme, std::string>;
  auto how = parts_of<map>(at_once);
  how.blocks = [](map& it) { return 1 + it.size_estimate(); };  // the root block, and records
  add_map<map>(to, of + "_list_strings", how);
}

/// Keys out of line, of which internal nodes have copies.
template <class Scheme>
void add_tree_of_strings(list& to, const std::string& name) {
  using tree = sets::basic_tree<Scheme, std::string, std::uint64_t, std::less<>, eager_epochs>;
  using map = by_strings<tree>;
  auto how = parts_of<map>(at_once);
  how.blocks = [](map& it) { return 1 + it.size_estimate(); };  // the root block, and records
  add_map<map>(to, name, how);
  to.back().type = name_in_functions<tree>();
}

/// The trees of a scheme.
template <class Scheme>
void add_set_trees(list& to, const std::string& of) {
  using map = set_tree<Scheme, std::uint64_t>;
  using set = set_tree<Scheme, roots::no_value>;
  add_map<map>(to, of + "_tree", parts_of<map>(at_once));
  add_map<set>(to, of + "_tree_set", parts_of<set>(at_once));
  add_updates<map>(to, of + "_tree_updates", at_once);
  add_by<by_its_ends<map>, map>(to, of + "_tree_ends", at_once);
  add_by<by_walks<map>, map>(to, of + "_tree_walks", at_once, one_key);
  add_tree_of_strings<Scheme>(to, of + "_tree_strings");
}

/// All that a scheme has to show. Entries are called `<of>_list...` and `<of>_hash...`.
template <class Scheme>
void add_scheme(list& to, const std::string& of) {
  using value = std::uint64_t;
  using roots::no_value;
  using list_map = set_list<Scheme, value>;
  using list_set = set_list<Scheme, no_value>;
  add_map<list_map>(to, of + "_list", parts_of<list_map>(at_once));
  add_map<list_set>(to, of + "_list_set", parts_of<list_set>(at_once));
  add_updates<list_map>(to, of + "_list_updates", at_once);
  add_by<by_its_ends<list_map>, list_map>(to, of + "_list_ends", at_once);
  using table = set_hash<Scheme, value>;
  add_map<table>(to, of + "_hash", parts_of<table>(table_of(4)));
  add_by<by_walks<table>, table>(to, of + "_hash_walks", table_of(4), one_key);
  add_growing<set_hash<Scheme, no_value>>(to, of + "_hash_growing");
  using colliding = set_hash<Scheme, value, one_hash>;
  add_map<colliding>(to, of + "_hash_colliding", parts_of<colliding>(table_of(2)));
  add_moving_map<list_map>(to, of + "_list_moving", parts_of<list_map>(at_once));
  add_skiplists_of<Scheme>(to, of);
  add_strings<Scheme>(to, of);
  add_set_trees<Scheme>(to, of);
}

}  // namespace outlast::verify::detail
