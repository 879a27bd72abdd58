// Goal: whatever is wrong with the files of a store, opening and repairing it ends with a status,
// never with a crash or a hang, and what a repair has kept is what was there.
// Method: good stores, closed and killed, in memory and behind a log; words of their files are
// changed at random, those that hold something first of all; a child process repairs, opens and
// uses them. OUTLAST_SPOILT_STORES says how many of each are tried, OUTLAST_SPOILT_SEED from which
// on. A store that is read without paranoid_checks believes the pages of its tree, as transactions
// do, and who changes something believes the tables of the heap: so only those are read here that
// were checked, and only those changed that a repair has made.
#include <tests/support/store_home.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

namespace outlast::test {
namespace {

namespace fs = std::filesystem;

/// The bytes of a file that are no hole.
class sparse_bytes {
 public:
  explicit sparse_bytes(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    is_there_ = true;
    struct stat status{};
    EXPECT_EQ(::fstat(file, &status), 0);
    size_ = status.st_size;
    for (off_t begin = 0; (begin = ::lseek(file, begin, SEEK_DATA)) >= 0;) {
      const off_t end = ::lseek(file, begin, SEEK_HOLE);
      std::string bytes(static_cast<std::size_t>(end - begin), '\0');
      EXPECT_EQ(::pread(file, bytes.data(), bytes.size(), begin), end - begin);
      note_words(begin, bytes);
      parts_.emplace_back(begin, std::move(bytes));
      begin = end;
    }
    ::close(file);
  }

  void write(const std::string& path) const {
    ::unlink(path.c_str());
    if (!is_there_) return;
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    EXPECT_EQ(::ftruncate(file, size_), 0);
    for (const auto& [begin, bytes] : parts_) {
      EXPECT_EQ(::pwrite(file, bytes.data(), bytes.size(), begin), std::ssize(bytes));
    }
    ::close(file);
  }
  [[nodiscard]] bool is_there() const { return is_there_; }
  /// Offsets of words that are not zero.
  [[nodiscard]] const std::vector<off_t>& words() const { return words_; }

 private:
  void note_words(off_t begin, const std::string& bytes) {
    for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + i, sizeof word);
      if (word != 0) words_.push_back(begin + static_cast<off_t>(i));
    }
  }

  bool is_there_ = false;
  off_t size_ = 0;
  std::vector<std::pair<off_t, std::string>> parts_;
  std::vector<off_t> words_;
};

/// Changes a few words of the file.
void spoil(const std::string& path, const sparse_bytes& good, std::mt19937_64& random) {
  const auto& words = good.words();
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  for (std::uint64_t left = 1 + random() % 4; left > 0; --left) {
    // The first pages hold the tables; the rest is far more.
    const std::size_t of =
        random() % 3 == 0 ? std::min<std::size_t>(300, words.size()) : words.size();
    const off_t at = words[random() % of] + (random() % 8 == 0 ? 8 : 0);
    std::uint64_t word = 0;
    std::uint64_t other = 0;
    if (::pread(file, &word, sizeof word, at) != sizeof word) continue;
    if (::pread(file, &other, sizeof other, words[random() % words.size()]) != sizeof other)
      continue;
    switch (random() % 7) {
      case 0: word ^= std::uint64_t{1} << random() % 64; break;
      case 1: word = random(); break;
      case 2: word = 0; break;
      case 3: word += random() % 64 * 8 - 256; break;
      case 4: word = other; break;
      case 5: word = ~std::uint64_t{0} >> random() % 64; break;
      default: word ^= 0xffULL << random() % 8 * 8; break;
    }
    EXPECT_EQ(::pwrite(file, &word, sizeof word, at), ssize_t{sizeof word});
  }
  ::close(file);
}

struct base_case {
  place where;
  bool is_closed;
};
void PrintTo(const base_case& which, std::ostream* to) {
  PrintTo(which.where, to);
  *to << (which.is_closed ? "_closed" : "_killed");
}

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class SpoiltStore : public testing::TestWithParam<base_case> {
 protected:
  SpoiltStore() : home(GetParam().where) {
    home.more.capacity_bytes = std::size_t{1} << 20;
    home.more.replicas = 2;
    const bool is_made = in_a_killed_process([this] { return make(); });
    EXPECT_TRUE(is_made);
    for (const auto& each : fs::directory_iterator(home.name())) {
      if (each.path().filename() == "LOG") continue;
      files.emplace_back(each.path().string(), sparse_bytes(each.path().string()));
    }
    for (int i = 0; i < keys; ++i) expected.insert(pair_of(i));
    possible = expected;
    // What a damaged log has lost is the end.
    for (int i = 0; i < 2 * keys && home.is_logged() && !GetParam().is_closed; ++i) {
      possible.emplace(pair_of(i).first, pair_of(i).second + "x");
    }
  }

  /// Long and short values, a tree of several pages, something that snapshots have kept.
  bool make() {
    if (!home.open().ok()) return false;
    const db::Snapshot* then = nullptr;
    for (int i = 0; i < 2 * keys; ++i) {
      if (!home->Put({}, pair_of(i).first, pair_of(i).second + "x").ok()) return false;
      if (i == keys) then = home->GetSnapshot();
    }
    for (int i = 0; i < keys; ++i) {
      if (!home->Put({}, pair_of(i).first, pair_of(i).second).ok()) return false;
    }
    for (int i = keys; i < 2 * keys; ++i) {
      if (!home->Delete({}, pair_of(i).first).ok()) return false;
    }
    if (!home->Write(synced(), nullptr).ok()) return false;
    if (GetParam().is_closed) {
      home->ReleaseSnapshot(then);
      home.close();
    }
    return true;
  }
  static std::pair<std::string, std::string> pair_of(int i) {
    const std::string key = "key " + std::to_string(1000 + i) + std::string(i % 5 * 7, '.');
    return {key, "value of " + key + std::string(i % 7 == 0 ? 400 : i % 30, 'v')};
  }
  static db::WriteOptions synced() {
    db::WriteOptions made;
    made.sync = true;
    return made;
  }

  void restore() const {
    for (const auto& each : fs::directory_iterator(home.name())) fs::remove(each.path());
    for (const auto& [path, bytes] : files) bytes.write(path);
  }
  void spoil_one(std::uint64_t seed) const {
    std::mt19937_64 random(seed);
    restore();
    const auto& [path, good] = files[random() % files.size()];
    if (!good.words().empty()) return spoil(path, good, random);
    const auto largest =
        std::max_element(files.begin(), files.end(), [](const auto& a, const auto& b) {
          return a.second.words().size() < b.second.words().size();
        });
    spoil(largest->first, largest->second, random);
  }

  /// In a child that has 10 seconds and 4 GiB: its exit status, or minus its signal.
  template <class Life>
  static int survives(Life&& life) {
    const ::pid_t child = ::fork();
    if (child == 0) {
      ::alarm(10);
      ::_exit(life());
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  enum answers : int { refused = 10, fine = 11, made_up = 12, unusable = 13 };

  /// Reads a store that has been checked, without a change: an iterator's would be one.
  int use() {
    for (const auto& [key, unused] : expected) {
      std::string found;
      const db::Status status = home->Get({}, key, &found);
      if (!status.ok() && !status.IsNotFound()) return unusable;
      if (status.ok() && !possible.contains({key, found})) return made_up;
    }
    return fine;
  }
  int open_checked() {
    home.options.create_if_missing = false;
    home.options.paranoid_checks = true;
    if (!home.open().ok()) return refused;
    return use();
  }
  int repair() {
    if (!db::RepairDB(home.name(), home.options).ok()) return refused;
    const int used = open_checked();
    if (used != fine) return used == refused ? unusable : used;
    const std::unique_ptr<db::Iterator> at(home->NewIterator({}));
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      if (!possible.contains({at->key().ToString(), at->value().ToString()})) return made_up;
    }
    // It is as good as new.
    for (int i = 0; i < keys; ++i) {
      const auto [key, value] = pair_of(i);
      if (!home->Put({}, key, value).ok() || !home->Delete({}, pair_of(i + keys).first).ok()) {
        return unusable;
      }
    }
    const entries found = content_of(*home);
    return std::set(found.begin(), found.end()) == expected ? fine : unusable;
  }

  static constexpr int keys = 300;
  store_home home;
  std::vector<std::pair<std::string, sparse_bytes>> files;
  std::set<std::pair<std::string, std::string>> expected;
  std::set<std::pair<std::string, std::string>> possible;
};

INSTANTIATE_TEST_SUITE_P(each, SpoiltStore,
                         testing::Values(base_case{place::memory_files, true},
                                         base_case{place::memory_files, false},
                                         base_case{place::disk, true},
                                         base_case{place::disk, false}),
                         testing::PrintToStringParamName());

TEST_P(SpoiltStore, is_opened_or_refused) {
  const std::uint64_t first = number_from("OUTLAST_SPOILT_SEED", 1);
  const std::uint64_t count = number_from("OUTLAST_SPOILT_STORES", 40);
  std::uint64_t opened = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    spoil_one(seed);
    const int answer = survives([this] { return open_checked(); });
    EXPECT_TRUE(answer == fine || answer == refused) << answer << ", OUTLAST_SPOILT_SEED=" << seed;
    if (answer == fine) ++opened;
  }
  std::cout << opened << " of " << count << " spoilt stores were opened\n";
  EXPECT_GT(opened, count / 20);
  EXPECT_LT(opened, count);
}

TEST_P(SpoiltStore, is_repaired_or_refused) {
  const std::uint64_t first = number_from("OUTLAST_SPOILT_SEED", 1);
  const std::uint64_t count = number_from("OUTLAST_SPOILT_STORES", 40);
  std::uint64_t repaired = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    spoil_one(seed);
    const int answer = survives([this] { return repair(); });
    EXPECT_TRUE(answer == fine || answer == refused) << answer << ", OUTLAST_SPOILT_SEED=" << seed;
    if (answer == fine) ++repaired;
  }
  std::cout << repaired << " of " << count << " spoilt stores were repaired\n";
  EXPECT_GT(repaired, count / 4);
}

}  // namespace
}  // namespace outlast::test
