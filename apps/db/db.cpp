// outlast db COMMAND DIRECTORY ...: reads, writes and maintains a store.
// Exit status: 0, success; 1, the key does not exist, or a check has found damage; 2, the arguments
// are wrong, or the command failed: the message has the file and the cause.
#include <apps/commands.hpp>
#include <apps/db/dump.hpp>
#include <apps/db/import.hpp>
#include <apps/db/leveldb.hpp>
#include <apps/db/meter.hpp>
#include <apps/db/order.hpp>
#include <apps/db/session.hpp>
#include <apps/db/text.hpp>
#include <outlast/db/checkpoint.hpp>
#include <outlast/db/env.hpp>

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace outlast::apps {
namespace db {
namespace {

using namespace outlast::db;
using nlohmann::ordered_json;

constexpr int found_nothing = 1;
constexpr int not_done = 2;

/// The arguments of all commands. Each command has its own object.
struct arguments {
  std::string store;
  std::string key;
  std::optional<std::string> value;
  std::string file;
  std::string other;  ///< a second directory
  std::string library = leveldb_library;
  std::string from;
  std::string to;
  std::string prefix;
  std::string order;  ///< of keys, as --comparator names it
  std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();
  new_store made;
  bool backwards = false;
  bool keys_only = false;
  bool create = false;
  bool raw = false;
  bool json = false;
};

std::string bytes_of(const std::string& what, const std::string& text) {
  if (const auto bytes = unescaped(text)) return *bytes;
  throw failure(what + " '" + text + "': a backslash is followed by neither a backslash nor xNN");
}

void require_store(const std::string& store) {
  if (!holds_store(store)) throw failure(store + ": contains no store (no file store.pool)");
}

std::string reason() { return std::generic_category().message(errno); }

/// Returns the contents of a file, or of standard input if the name is "-".
std::string read_all(const std::string& file) {
  std::ifstream opened;
  if (file != "-") {
    opened.open(file, std::ios::binary);
    if (!opened) throw failure(file + ": " + reason());
  }
  std::istream& in = file == "-" ? std::cin : opened;
  std::string all{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) throw failure(file + ": " + reason());
  return all;
}

int get(const arguments& given) {
  const std::string key = bytes_of("key", given.key);
  const store_handle store = open_to_read(given.store, reading::looks, given.order);
  ReadOptions checked;
  checked.verify_checksums = true;
  std::string value;
  const Status status = store->Get(checked, key, &value);
  if (status.IsNotFound()) {
    std::cerr << "outlast db: " << given.store << ": no key '" << escaped(key) << "'\n";
    return found_nothing;
  }
  require(status);
  if (given.json) {
    std::cout << line_of(key, value, true) << std::endl;
  } else if (given.raw) {
    std::cout << value << std::flush;
  } else {
    std::cout << escaped(value) << std::endl;
  }
  if (!std::cout) throw failure("cannot write to standard output");
  return 0;
}

int put(const arguments& given) {
  const std::string key = bytes_of("key", given.key);
  if (!given.value && given.file.empty()) throw failure("put requires a value or --file");
  const std::string value = given.value ? bytes_of("value", *given.value) : read_all(given.file);
  WriteOptions durable;
  durable.sync = true;
  const auto how = given.create ? opening::made : opening::existing;
  const store_handle store = open_to_write(given.store, how, given.made, given.order);
  require_written(store->Put(durable, key, value));
  return 0;
}

int erase(const arguments& given) {
  const std::string key = bytes_of("key", given.key);
  const store_handle store = open_to_write(given.store, opening::existing, {}, given.order);
  std::string value;
  const Status status = store->Get(ReadOptions(), key, &value);
  if (status.IsNotFound()) {
    std::cerr << "outlast db: " << given.store << ": no key '" << escaped(key) << "'\n";
    return found_nothing;
  }
  require(status);
  WriteOptions durable;
  durable.sync = true;
  require(store->Delete(durable, key));
  return 0;
}

int scan(const arguments& given) {
  key_range range;
  if (!given.from.empty()) range.from = bytes_of("--from", given.from);
  if (!given.to.empty()) range.to = bytes_of("--to", given.to);
  const std::string prefix = bytes_of("--prefix", given.prefix);
  const store_handle store = open_to_read(given.store, reading::looks, given.order);
  range.narrow(prefix, *store.order);
  visit(store, range, given.backwards, given.limit, [&](const Slice& key, const Slice& value) {
    if (given.keys_only) {
      const std::string text = escaped(key.view());
      std::cout << (given.json ? ordered_json{{"key", text}}.dump() : text) << '\n';
    } else {
      std::cout << line_of(key, value, given.json) << '\n';
    }
    if (!std::cout) throw failure("cannot write to standard output");
  });
  std::cout << std::flush;
  if (!std::cout) throw failure("cannot write to standard output");
  return 0;
}

int dump_store(const arguments& given) {
  const store_handle store = open_to_read(given.store, reading::walks, given.order);
  if (given.file.empty() || given.file == "-") {
    dump(store, std::cout, "standard output", given.json);
    return 0;
  }
  std::ofstream out(given.file, std::ios::binary | std::ios::trunc);
  if (!out) throw failure(given.file + ": " + reason());
  dump(store, out, given.file, given.json);
  return 0;
}

/// Prints the number of keys that a command has moved.
void print_count(const arguments& given, std::uint64_t keys) {
  if (given.json) {
    std::cout << ordered_json{{"store", given.store}, {"keys", keys}}.dump() << '\n';
  } else {
    std::cout << keys << " keys\n";
  }
}

int load_store(const arguments& given) {
  const bool is_file = !given.file.empty() && given.file != "-";
  std::ifstream opened;
  std::uint64_t bytes = 0;
  if (is_file) {
    opened.open(given.file, std::ios::binary);
    if (!opened) throw failure(given.file + ": " + reason());
    std::error_code unknown;
    const auto size = std::filesystem::file_size(given.file, unknown);
    bytes = unknown ? 0 : size;
  }
  const auto into = [&](const std::string& order_name) {
    return open_to_write(given.store, opening::made, given.made, given.order, order_name);
  };
  const std::uint64_t keys =
      load(into, is_file ? opened : std::cin, is_file ? given.file : "standard input", bytes);
  print_count(given, keys);
  return 0;
}

int stats(const arguments& given) {
  const store_handle store = open_to_read(given.store, reading::asks, given.order);
  const ordered_json all{{"store", given.store},
                         {"comparator", text_of(*store, "outlast.comparator")},
                         {"keys", number_of(*store, "outlast.keys")},
                         {"data_bytes", number_of(*store, "outlast.data-bytes")},
                         {"live_bytes", number_of(*store, "outlast.live-bytes")},
                         {"retained_bytes", number_of(*store, "outlast.retained-bytes")},
                         {"free_bytes", number_of(*store, "outlast.free-bytes")},
                         {"file_bytes", number_of(*store, "outlast.file-bytes")},
                         {"memory_bytes", number_of(*store, "leveldb.approximate-memory-usage")},
                         {"guarantee", text_of(*store, "outlast.guarantee")}};
  if (given.json) {
    std::cout << all.dump() << '\n';
    return 0;
  }
  for (const auto& [name, value] : all.items()) {
    std::cout << name << ": " << (value.is_string() ? value.get<std::string>() : value.dump())
              << '\n';
  }
  return 0;
}

/// Returns descriptions of the damage of a store, without changing it.
std::vector<std::string> examine(const arguments& given) {
  require_store(given.store);
  Options paranoid;
  paranoid.paranoid_checks = true;
  paranoid.comparator = nullptr;
  DB* opened = nullptr;
  Status status = DB::OpenForReading(paranoid, given.store, &opened);
  delete opened;
  if (status.ok()) {
    // Everything except the order of the keys is intact.
    paranoid.comparator = open_to_read(given.store, reading::asks, given.order).order;
    opened = nullptr;
    if (paranoid.comparator != nullptr) {
      status = DB::OpenForReading(paranoid, given.store, &opened);
    }
    delete opened;
  }
  if (status.IsCorruption()) return {status.ToString()};
  require(status);
  return {};
}

int check_store(const arguments& given) {
  const std::vector<std::string> found = examine(given);
  if (given.json) {
    std::cout
        << ordered_json{{"store", given.store}, {"sound", found.empty()}, {"found", found}}.dump()
        << '\n';
  } else {
    for (const std::string& one : found) std::cout << one << '\n';
    if (found.empty()) std::cout << given.store << ": sound\n";
  }
  return found.empty() ? 0 : found_nothing;
}

int back_up(const arguments& given) {
  const store_handle store = open_to_read(given.store, reading::walks, given.order);
  meter bar("backup", "keys");
  std::uint64_t keys = 0;
  require(Checkpoint(&*store, given.other, [&](std::uint64_t done, std::uint64_t all) {
    keys = done;
    bar.advance(done, all);
  }));
  print_count(given, keys);
  return 0;
}

int import_store(const arguments& given) {
  const std::uint64_t keys =
      import_leveldb({given.library, given.other, given.order}, given.store, given.made);
  print_count(given, keys);
  return 0;
}

/// Prints the messages of a store.
class printer final : public Logger {
 public:
  void Logv(const char* format, std::va_list ap) override {
    std::vprintf(format, ap);
    std::putchar('\n');
  }
};

int repair(const arguments& given) {
  printer messages;
  Options options;
  if (holds_store(given.store)) options.comparator = &comparator_in(given.store, given.order);
  options.info_log = &messages;
  require(RepairDB(given.store, options));
  return 0;
}

int convert(const arguments& given) {
  require_store(given.store);
  Options options;
  options.comparator = &comparator_in(given.store, given.order);
  std::uint64_t keys = 0;
  require(ConvertDB(given.store, options, options_of(given.made), &keys));
  print_count(given, keys);
  return 0;
}

int destroy(const arguments& given) {
  require_store(given.store);
  require(DestroyDB(given.store, Options()));
  return 0;
}

using action = int (*)(const arguments& given);

/// Adds a command on a store. The command prints its errors.
CLI::App* add(CLI::App& group, const char* name, const char* purpose, arguments*& given,
              action run) {
  CLI::App* const command = group.add_subcommand(name, purpose);
  const auto kept = std::make_shared<arguments>();
  given = kept.get();
  command->footer(escapes);
  command->callback([kept, run] {
    int status = not_done;
    try {
      status = run(*kept);
    } catch (const std::exception& why) {
      std::cout << std::flush;
      std::cerr << "outlast db: " << why.what() << '\n';
    }
    exit_with(status);
  });
  return command;
}

void add_store(CLI::App& command, arguments& given) {
  command.add_option("store", given.store, "The store's directory")->required();
}
void add_json(CLI::App& command, arguments& given, const char* says) {
  command.add_flag("--json", given.json, says);
}
void add_order(CLI::App& command, arguments& given, const char* says) {
  command.add_option("--comparator", given.order, says)
      ->check(CLI::IsMember({orders_given[0], orders_given[1]}));
}
/// For commands on an existing store.
constexpr const char* order_there =
    "The order of the keys, if the tool does not have the store's comparator";
/// For commands that may create a store.
constexpr const char* order_made =
    "The order of the keys, for a new store or if the tool does not have the store's comparator";
void add_room(CLI::App& command, arguments& given) {
  command
      .add_option(
          "--capacity", given.made.capacity_bytes,
          "Maximum bytes of the file, such as 512MB or 20GB (default: the file grows to the "
          "end of the file system). With the engine replicas: maximum bytes of data in a "
          "new store (default: the free space, from 1GB to 64GB)")
      ->transform(CLI::AsSizeValue(false));
}
CLI::Option* add_engine(CLI::App& command, arguments& given, const std::string& says) {
  return command
      .add_option("--engine", given.made.engine,
                  says +
                      "records: writers run in parallel, and files are smaller. replicas: "
                      "writers are wait-free, and opening is fast")
      ->check(CLI::IsMember({"records", "replicas"}));
}
/// For commands that may create a store.
void add_new(CLI::App& command, arguments& given) {
  add_room(command, given);
  add_engine(command, given, "The engine of a new store (default: records). ");
}

void add_keys(CLI::App& group) {
  arguments* given = nullptr;
  CLI::App* command = add(group, "get", "Print the value of a key", given, get);
  add_store(*command, *given);
  add_order(*command, *given, order_there);
  command->add_option("key", given->key)->required();
  command->add_flag("--raw", given->raw, "Print the raw bytes, without a line break");
  add_json(*command, *given, "Print one JSON object");

  command = add(group, "put", "Set the value of a key, durably", given, put);
  add_store(*command, *given);
  add_order(*command, *given, order_made);
  command->add_option("key", given->key)->required();
  CLI::Option* const value = command->add_option("value", given->value);
  CLI::Option* const file = command->add_option(
      "--file", given->file, "Read the value from this file; - is standard input");
  value->excludes(file);
  command->add_flag("--create", given->create, "Create the store if it does not exist");
  add_new(*command, *given);

  command = add(group, "delete", "Remove a key, durably", given, erase);
  add_store(*command, *given);
  add_order(*command, *given, order_there);
  command->add_option("key", given->key)->required();

  command = add(group, "scan", "Print keys and values in order, separated by tabs", given, scan);
  add_store(*command, *given);
  add_order(*command, *given, order_there);
  command->add_option("--from", given->from, "Begin at this key");
  command->add_option("--to", given->to, "Stop before this key");
  command->add_option("--prefix", given->prefix, "Only keys with this prefix");
  command->add_option("--limit", given->limit, "Maximum number of keys");
  command->add_flag("--reverse", given->backwards, "From the last key to the first");
  command->add_flag("--keys", given->keys_only, "Print keys only");
  add_json(*command, *given, "Print one JSON object a line");
}

void add_copies(CLI::App& group) {
  arguments* given = nullptr;
  CLI::App* command =
      add(group, "dump", "Write all keys and values as text for load", given, dump_store);
  add_store(*command, *given);
  add_order(*command, *given, order_there);
  command->add_option("file", given->file, "The dump (default: standard output)");
  add_json(*command, *given, "One JSON object a line");

  command = add(group, "load", "Put the keys of a dump; create the store if necessary", given,
                load_store);
  add_store(*command, *given);
  add_order(*command, *given, order_made);
  command->add_option("file", given->file, "The dump (default: standard input)");
  add_new(*command, *given);
  add_json(*command, *given, "Print one JSON object");

  command = add(group, "backup",
                "Copy a store that no program has open. A program copies its open store with "
                "outlast::db::Checkpoint()",
                given, back_up);
  add_store(*command, *given);
  add_order(*command, *given, order_there);
  command->add_option("target", given->other, "A directory that does not exist or is empty")
      ->required();
  add_json(*command, *given, "Print one JSON object");

  command = add(group, "import",
                "Convert a LevelDB database to a store, with LevelDB's own library (Debian package "
                "libleveldb1d). When LevelDB opens the database it may write its log to a table; "
                "keys and values do not change",
                given, import_store);
  command->add_option("leveldb", given->other, "LevelDB's directory, which no process has open")
      ->required();
  add_store(*command, *given);
  add_order(*command, *given, order_made);
  command->add_option("--library", given->library, "LevelDB's shared library")
      ->capture_default_str();
  add_new(*command, *given);
  add_json(*command, *given, "Print one JSON object");
}

void add_care(CLI::App& group) {
  arguments* given = nullptr;
  CLI::App* command =
      add(group, "stats", "Print sizes and the crashes that the data survive", given, stats);
  add_store(*command, *given);
  add_order(*command, *given, order_there);
  add_json(*command, *given, "Print one JSON object");

  command =
      add(group, "check", "Check all data; exit status 1 if it is damaged", given, check_store);
  add_store(*command, *given);
  add_order(*command, *given, order_there);
  add_json(*command, *given, "Print one JSON object");

  command =
      add(group, "repair", "Repair a damaged store: keep all data that can be read", given, repair);
  add_store(*command, *given);
  add_order(*command, *given, order_there);

  command =
      add(group, "convert",
          "Move a store that no program has open to another engine. The old store is replaced "
          "when the new one is complete",
          given, convert);
  add_store(*command, *given);
  add_order(*command, *given, order_there);
  add_engine(*command, *given, "The new engine. ")->required();
  add_room(*command, *given);
  add_json(*command, *given, "Print one JSON object");

  command = add(group, "destroy", "Remove a store's files", given, destroy);
  add_store(*command, *given);
}

}  // namespace
}  // namespace db

void add_db(CLI::App& tool) {
  CLI::App* const group = tool.add_subcommand("db", "Read, write and maintain a store");
  group->require_subcommand(1);
  group->footer(db::escapes);
  db::add_keys(*group);
  db::add_copies(*group);
  db::add_care(*group);
}

}  // namespace outlast::apps
