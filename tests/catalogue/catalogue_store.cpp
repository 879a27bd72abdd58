// The store's core, as small as it may be.
#include <tests/catalogue/catalogue_entries.hpp>
#include <tests/catalogue/full_store.hpp>
#include <tests/catalogue/store_in_pool.hpp>
#include <tests/catalogue/store_transactions.hpp>
#include <tests/catalogue/store_with_index.hpp>
#include <tests/catalogue/store_with_marks.hpp>

#include <memory>
#include <string>

namespace outlast::verify::detail {

/// Adds a store of records; the arguments are those of small_record_engine.
template <bool Keeps, bool Cleans>
static void add_records(const char* name, list& to) {
  using engine = small_record_engine<domain::simulated, Keeps, Cleans>;
  using store = store_in_pool<domain::simulated, engine>;
  to.push_back(
      {name,
       store::policy_type::name(),
       [name] { return std::make_unique<store_subject<store>>(name, structure_parts<store>()); },
       {.threads = 2, .operations = 2, .keys = 3, .prefill = 3}});
}

void add_store(list& to) {
  using store = store_in_pool<domain::simulated>;
  to.push_back(
      {"store",
       store::policy_type::name(),
       [] { return std::make_unique<store_subject<store>>("store", structure_parts<store>()); },
       {.threads = 2, .operations = 2, .keys = 3, .prefill = 3}});
  add_records<false, false>("store_of_records_unwatched", to);
  add_records<true, false>("store_of_records", to);
}

void add_cleaned_store(list& to) {
  add_records<true, true>("store_of_records_cleaned", to);
  add_records<false, true>("store_of_records_cleaned_unwatched", to);
}

/// Adds the transactions of a store.
template <class Engine>
static void add_transactions_of(const char* name, list& to) {
  using store = store_in_pool<domain::simulated, Engine>;
  to.push_back({name,
                store::policy_type::name(),
                [name] {
                  return std::make_unique<store_transactions_subject<store>>(
                      name, structure_parts<store>());
                },
                {.threads = 2, .operations = 2, .keys = 3, .prefill = 3}});
}

void add_store_transactions(list& to) {
  add_transactions_of<small_tree_engine<domain::simulated>>("store_transactions", to);
  add_transactions_of<small_record_engine<domain::simulated, false, false>>(
      "store_of_records_transactions", to);
}

/// Adds a store of records that makes writes durable by marks. The arguments are those of
/// small_record_engine.
template <bool Keeps, bool Cleans>
static void add_marked_records(const std::string& name, list& to) {
  using engine = small_record_engine<domain::simulated, Keeps, Cleans, small_marked_shape>;
  using store = store_in_pool<domain::simulated, engine>;
  constexpr scope usual{.threads = 2, .operations = 2, .keys = 3, .prefill = 3};
  to.push_back({name + "_synced", store::policy_type::name(),
                [name] {
                  return std::make_unique<synced_store_subject<store>>(name + "_synced",
                                                                       structure_parts<store>());
                },
                usual});
  to.push_back({name + "_window", store::policy_type::name(),
                [name] { return std::make_unique<marked_store_subject<store>>(name + "_window"); },
                usual});
}

/// Adds the stores that have no space.
void add_full_store(list& to) {
  constexpr scope usual{.threads = 2, .operations = 2, .keys = 3, .prefill = 3};
  using engine = small_record_engine<domain::simulated, false, false, full_record_shape>;
  using marked_engine = small_record_engine<domain::simulated, false, false, full_marked_shape>;
  to.push_back({"store_of_records_full", engine::policy_type::name(),
                [] {
                  using store = full_store<domain::simulated, engine>;
                  return std::make_unique<store_subject<store>>(
                      "store_of_records_full",
                      structure_parts<store>{.memory_bytes = full_store_bytes});
                },
                usual});
  to.push_back({"store_of_records_full_synced", engine::policy_type::name(),
                [] {
                  using store = full_store<domain::simulated, marked_engine>;
                  return std::make_unique<synced_store_subject<store>>(
                      "store_of_records_full_synced",
                      structure_parts<store>{.memory_bytes = full_store_bytes});
                },
                usual});
  to.push_back({"store_of_records_with_index_full", engine::policy_type::name(),
                [] {
                  using store = full_store<domain::simulated, engine>;
                  return std::make_unique<kept_store_subject<store>>(
                      "store_of_records_with_index_full", full_store_bytes);
                },
                usual});
}

void add_marked_store(list& to) {
  add_marked_records<false, false>("store_of_records", to);
  add_marked_records<false, true>("store_of_records_cleaned", to);
}

/// Adds a store of records that moves from a disk to persistent memory.
void add_moved_store(list& to) {
  using on_disk =
      store_in_pool<domain::simulated,
                    small_record_engine<domain::simulated, false, false, small_marked_shape>>;
  using in_memory =
      store_in_pool<domain::simulated,
                    small_record_engine<domain::simulated, false, false, small_moved_shape>>;
  to.push_back({"store_of_records_moved",
                on_disk::policy_type::name(),
                [] {
                  return std::make_unique<moved_store_subject<on_disk, in_memory>>(
                      "store_of_records_moved");
                },
                {.threads = 2, .operations = 2, .keys = 3, .prefill = 3}});
}

/// Adds a store of records whose index outlives its process. The arguments are those of
/// small_record_engine.
template <bool Keeps, bool Cleans>
static void add_kept_records(const char* name, list& to) {
  using engine = small_record_engine<domain::simulated, Keeps, Cleans>;
  using store = store_in_pool<domain::simulated, engine>;
  to.push_back({name,
                store::policy_type::name(),
                [name] { return std::make_unique<kept_store_subject<store>>(name); },
                {.threads = 2, .operations = 2, .keys = 3, .prefill = 3}});
}

void add_kept_store(list& to) {
  add_kept_records<false, false>("store_of_records_with_index", to);
  add_kept_records<true, true>("store_of_records_with_index_cleaned", to);
}

}  // namespace outlast::verify::detail
