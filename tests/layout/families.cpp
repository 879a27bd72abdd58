#include <tests/layout/families.hpp>

#include <outlast/containers/baselines/puc_map.hpp>
#include <outlast/containers/bplus_tree.hpp>
#include <outlast/containers/hash_map.hpp>
#include <outlast/containers/managed_map.hpp>
#include <outlast/containers/managed_tree.hpp>
#include <outlast/containers/red_black_tree.hpp>
#include <outlast/db/db.hpp>
#include <outlast/db/iterator.hpp>
#include <outlast/db/options.hpp>
#include <outlast/db/write_batch.hpp>
#include <outlast/durable/baselines/link_and_persist.hpp>
#include <outlast/durable/mirror.hpp>
#include <outlast/epoch/buffered_stack.hpp>
#include <outlast/epoch/graph.hpp>
#include <outlast/epoch/hash_map.hpp>
#include <outlast/epoch/lockfree_queue.hpp>
#include <outlast/epoch/ordered_map.hpp>
#include <outlast/epoch/queue.hpp>
#include <outlast/lockfree/harris_list.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/lockfree/michael_scott_queue.hpp>
#include <outlast/lockfree/natarajan_tree.hpp>
#include <outlast/lockfree/skiplist.hpp>
#include <outlast/lockfree/stack.hpp>
#include <outlast/sets/link_free_hash.hpp>
#include <outlast/sets/link_free_tree.hpp>
#include <outlast/sets/soft_list.hpp>
#include <outlast/sets/soft_skiplist.hpp>
#include <outlast/tx/baselines/cx_ptm.hpp>
#include <outlast/tx/left_right.hpp>
#include <outlast/tx/redo_opt.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace outlast::test {
namespace {

using number = std::uint64_t;

std::string text_of(number value) { return std::to_string(value); }
/// Long ones are one letter many times.
std::string text_of(std::string_view value) {
  if (value.size() < 20) return std::string(value);
  const bool is_whole = value.find_first_not_of(value.front()) == value.npos;
  return std::to_string(value.size()) + (is_whole ? value.front() : '?');
}

/// Of a map of anything, `key=value ` in the order of the keys, whichever order it has itself.
template <class Map>
std::string entries_of(Map&& map) {
  std::map<std::string, std::string> sorted;
  map.for_each([&](const auto& key, const auto& value) { sorted[text_of(key)] = text_of(value); });
  std::string text;
  for (const auto& [key, value] : sorted) text += key + '=' + value + ' ';
  return text;
}

/// Of a queue or stack, in its own order.
template <class Line>
std::string values_of(Line&& line) {
  std::string text;
  line.for_each([&](const auto& value) { text += text_of(value) + ' '; });
  return text;
}

/// What all maps of a family are given.
template <class Map>
void fill_map(Map&& map) {
  for (number key = 1; key <= 5; ++key) map.insert(key, key * 10);
  map.erase(2);
  map.put(3, 33);
}
template <class Map>
void change_map(Map&& map) {
  map.erase(1);
  map.put(7, 70);
}

template <class Line>
void fill_line(Line&& line) {
  for (number value = 1; value <= 4; ++value) line.push(value);
  (void)line.pop();
}
template <class Line>
void change_line(Line&& line) {
  (void)line.pop();
  line.push(9);
}

// ---- lock-free: each structure, each layout of links ----

using list = lockfree::harris_list<number, number>;
using table = lockfree::hash_table<number, number, durable::flit<durable::tag::hashed<4096>>>;
using tree = lockfree::natarajan_tree<number, number>;
using marked = lockfree::harris_list<number, number, durable::link_and_persist<>>;
using tower = lockfree::skiplist<number, number>;
using mirrored = lockfree::hash_table<number, number, durable::mirror<>>;
using line = lockfree::michael_scott_queue<number>;
using pile = lockfree::stack<number>;

template <class Visit>
void each_lockfree(pool& in, Visit&& visit) {
  visit(list(in, "list"));
  visit(table(in, "table"));
  visit(tree(in, "tree"));
  visit(marked(in, "marked"));
  visit(tower(in, "tower"));
  visit(mirrored(in, "mirrored"));
}

void fill_lockfree(pool& in) {
  each_lockfree(in, [](auto&& map) { fill_map(map); });
  fill_line(line(in, "line"));
  fill_line(pile(in, "pile"));
}
std::string content_lockfree(pool& in) {
  std::string text;
  each_lockfree(in, [&](auto&& map) { text += entries_of(map) + "; "; });
  return text + values_of(line(in, "line")) + "; " + values_of(pile(in, "pile"));
}
void change_lockfree(pool& in) {
  each_lockfree(in, [](auto&& map) { change_map(map); });
  change_line(line(in, "line"));
  change_line(pile(in, "pile"));
}

// ---- sets: numbers in the node's line, strings beside it ----

using records = sets::link_free_hash<number, number>;
using sorted = sets::link_free_tree<number, number>;
using soft_tower = sets::soft_skiplist<number, number>;
using texts = sets::soft_list<std::string, std::string>;

void fill_sets(pool& in) {
  fill_map(records(in, "records"));
  fill_map(sorted(in, "sorted"));
  fill_map(soft_tower(in, "soft_tower"));
  texts words(in, "texts");
  words.insert("short", "1");
  words.insert(std::string(60, 'k'), std::string(60, 'v'));
  words.insert("gone", "2");
  words.erase("gone");
}
std::string content_sets(pool& in) {
  return entries_of(records(in, "records")) + "; " + entries_of(sorted(in, "sorted")) + "; " +
         entries_of(soft_tower(in, "soft_tower")) + "; " + entries_of(texts(in, "texts"));
}
void change_sets(pool& in) {
  change_map(records(in, "records"));
  change_map(sorted(in, "sorted"));
  change_map(soft_tower(in, "soft_tower"));
  texts words(in, "texts");
  words.erase("short");
  words.put("new", "3");
}

// ---- buffered: the clock, structures with locks and without ----

using counts = epoch::hash_map<number, number>;
using names = epoch::hash_map<std::string, std::string>;
using ranges = epoch::ordered_map<number, number>;
using jobs = epoch::queue<number>;
using free_jobs = epoch::lockfree_queue<number>;
using plates = epoch::stack<number>;
using roads = epoch::graph<number, number>;

void fill_epoch(pool& in) {
  fill_map(counts(in, "counts"));
  names called(in, "names");
  called.insert("ada", std::string(70, 'l'));
  fill_map(ranges(in, "ranges"));
  fill_line(jobs(in, "jobs"));
  fill_line(free_jobs(in, "free_jobs"));
  fill_line(plates(in, "plates"));
  roads all(in, "roads");
  all.add_vertex(1, 10);
  all.add_vertex(2, 20);
  all.add_edge(1, 2, 12);
  called.sync();
}
std::string content_epoch(pool& in) {
  roads all(in, "roads");
  const std::string graph = all.has_edge(1, 2) ? "1-2" : "none";
  return entries_of(counts(in, "counts")) + "; " + entries_of(names(in, "names")) + "; " +
         entries_of(ranges(in, "ranges")) + "; " + values_of(jobs(in, "jobs")) + "; " +
         values_of(free_jobs(in, "free_jobs")) + "; " + values_of(plates(in, "plates")) + "; " +
         graph;
}
void change_epoch(pool& in) {
  change_map(counts(in, "counts"));
  names called(in, "names");
  called.put("ada", "new");
  change_map(ranges(in, "ranges"));
  change_line(jobs(in, "jobs"));
  change_line(free_jobs(in, "free_jobs"));
  change_line(plates(in, "plates"));
  roads(in, "roads").remove_edge(1, 2);
  called.sync();
}

// ---- transactions: each engine that has a format, each structure that has one ----

using ledger = containers::red_black_tree<number, number>;
using accounts = containers::managed_map<tx::left_right<>, ledger>;
using redone = containers::managed_map<tx::redo_opt<>, containers::hash_map<number, number>>;
using pages =
    containers::managed_tree<tx::cx_ptm<>, containers::bplus_tree<std::string, std::string>>;
using standard = containers::puc_map<containers::replica_map<number, number>>;

constexpr tx::options small{.replica_bytes = 128 << 10, .replicas = 2};

void fill_tx(pool& in) {
  fill_map(accounts(in, "accounts", small));
  fill_map(redone(in, "redone", small));
  pages words(in, "pages", small);
  words.put("short", "1");
  words.put(std::string(60, 'k'), std::string(300, 'v'));
  words.put("gone", "2");
  words.erase("gone");
}
std::string content_tx(pool& in) {
  return entries_of(accounts(in, "accounts", small)) + "; " +
         entries_of(redone(in, "redone", small)) + "; " + entries_of(pages(in, "pages", small));
}
void change_tx(pool& in) {
  change_map(accounts(in, "accounts", small));
  change_map(redone(in, "redone", small));
  pages words(in, "pages", small);
  words.erase("short");
  words.put("new", "3");
}

void fill_objects(pool& in) { fill_map(standard(in, "standard", small)); }
std::string content_objects(pool& in) { return entries_of(standard(in, "standard", small)); }
void change_objects(pool& in) { change_map(standard(in, "standard", small)); }

// ---- What they hold ----

#define OUTLAST_MAP "1=10 3=33 4=40 5=50 "
#define OUTLAST_CHANGED_MAP "3=33 4=40 5=50 7=70 "

constexpr family all[] = {
    {"lockfree", fill_lockfree, content_lockfree,
     OUTLAST_MAP "; " OUTLAST_MAP "; " OUTLAST_MAP "; " OUTLAST_MAP "; " OUTLAST_MAP
                 "; " OUTLAST_MAP "; 2 3 4 ; 3 2 1 ",
     change_lockfree,
     OUTLAST_CHANGED_MAP "; " OUTLAST_CHANGED_MAP "; " OUTLAST_CHANGED_MAP "; " OUTLAST_CHANGED_MAP
                         "; " OUTLAST_CHANGED_MAP "; " OUTLAST_CHANGED_MAP "; 3 4 9 ; 9 2 1 "},
    {"sets", fill_sets, content_sets,
     OUTLAST_MAP "; " OUTLAST_MAP "; " OUTLAST_MAP "; 60k=60v short=1 ", change_sets,
     OUTLAST_CHANGED_MAP "; " OUTLAST_CHANGED_MAP "; " OUTLAST_CHANGED_MAP "; 60k=60v new=3 "},
    {"epoch", fill_epoch, content_epoch,
     OUTLAST_MAP "; ada=70l ; " OUTLAST_MAP "; 2 3 4 ; 2 3 4 ; 3 2 1 ; 1-2", change_epoch,
     OUTLAST_CHANGED_MAP "; ada=new ; " OUTLAST_CHANGED_MAP "; 3 4 9 ; 3 4 9 ; 9 2 1 ; none"},
    {"tx", fill_tx, content_tx, OUTLAST_MAP "; " OUTLAST_MAP "; 60k=300v short=1 ", change_tx,
     OUTLAST_CHANGED_MAP "; " OUTLAST_CHANGED_MAP "; 60k=300v new=3 "},
    {"objects", fill_objects, content_objects, OUTLAST_MAP, change_objects, OUTLAST_CHANGED_MAP},
};

}  // namespace

std::span<const family> families() noexcept { return all; }

// ---- The store ----

namespace {

void require(const db::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

std::unique_ptr<db::DB> open_store(const std::string& directory) {
  db::Options options;
  options.create_if_missing = true;
  options.paranoid_checks = true;
  db::StoreOptions more;
  more.engine = db::StoreEngine::kReplicas;
  more.capacity_bytes = 1 << 20;
  more.replicas = 2;
  db::DB* opened = nullptr;
  require(db::DB::Open(options, more, directory, &opened));
  return std::unique_ptr<db::DB>(opened);
}

}  // namespace

void fill_store(const std::string& directory) {
  const auto store = open_store(directory);
  db::WriteOptions durable;
  durable.sync = true;
  require(store->Put(durable, "a", "apple"));
  require(store->Put(durable, "b", "bread"));
  require(store->Delete(durable, "b"));
  db::WriteBatch batch;
  batch.Put("c", "carrot");
  batch.Put("e", "");
  require(store->Write(durable, &batch));
}

std::string content_of_store(const std::string& directory) {
  const auto store = open_store(directory);
  db::ReadOptions checked;
  checked.verify_checksums = true;
  const std::unique_ptr<db::Iterator> at(store->NewIterator(checked));
  std::string text;
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    text += at->key().ToString() + '=' + at->value().ToString() + ' ';
  }
  require(at->status());
  return text;
}

void change_store(const std::string& directory) {
  const auto store = open_store(directory);
  db::WriteOptions durable;
  durable.sync = true;
  require(store->Put(durable, "b", "bean"));
  require(store->Delete(durable, "c"));
}

}  // namespace outlast::test
