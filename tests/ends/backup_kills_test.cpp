// Goal: a process that is killed while it makes backups leaves no half backup under a final name,
// and nothing that disturbs later backups.
// Method: a program changes four structures of a pool and makes backups, to files and to pipes. It
// is killed at random moments and started again with the same pool. Each backup with a final name
// is opened by another process, which checks its state, and examined by `outlast check`.
//
// OUTLAST_BACKUP_KILLS is the number of kills on each domain: 8 if it is not set.
#include <tests/ends/backup_kills.hpp>
#include <tests/support/memory_folder.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace outlast::test::ends {
namespace {

namespace fs = std::filesystem;

unsigned wanted_kills() {
  const char* const text = std::getenv("OUTLAST_BACKUP_KILLS");
  return text == nullptr ? 8 : static_cast<unsigned>(std::stoul(text));
}

/// Starts a program, whose output goes to a file.
pid_t start(std::vector<std::string> command, const std::string& output) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (const int each : {STDOUT_FILENO, STDERR_FILENO}) {
    ::posix_spawn_file_actions_addopen(&actions, each, output.c_str(),
                                       O_WRONLY | O_CREAT | O_APPEND, 0600);
  }
  std::vector<char*> arguments;
  for (std::string& each : command) arguments.push_back(each.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  EXPECT_EQ(::posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ), 0);
  ::posix_spawn_file_actions_destroy(&actions);
  return child;
}

class BackupKills : public testing::TestWithParam<std::string> {
 protected:
  BackupKills() {
    const std::string path = file("records");
    const int opened = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    EXPECT_EQ(::ftruncate(opened, sizeof(kill_records)), 0);
    void* const at =
        ::mmap(nullptr, sizeof(kill_records), PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0);
    EXPECT_NE(at, MAP_FAILED);
    ::close(opened);
    records_ = static_cast<kill_records*>(at);
  }
  ~BackupKills() override { ::munmap(records_, sizeof(kill_records)); }

  [[nodiscard]] std::string file(const std::string& name) const {
    return (folder_.path() / name).string();
  }

  void expect_success(const std::vector<std::string>& command) {
    fs::remove(file("output"));
    int status = -1;
    const pid_t child = start(command, file("output"));
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    std::ifstream output(file("output"));
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
        << command[1] << " of " << command.back() << ": "
        << std::string(std::istreambuf_iterator<char>(output), {});
  }

  /// Returns false if the program has ended by itself.
  bool run_and_kill(std::chrono::microseconds after) {
    records_->makes_backups.store(false);
    for (backup_bounds& each : records_->backups) each.has_returned.store(false);
    const pid_t child =
        start({BACKUP_KILLS_PROGRAM, "run", GetParam(), folder_.path().string()}, file("log"));
    int status = 0;
    while (!records_->makes_backups.load()) {
      if (::waitpid(child, &status, WNOHANG) != 0) return false;
      std::this_thread::yield();
    }
    std::this_thread::sleep_for(after);
    ::kill(child, SIGKILL);
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  }

  void check_and_remove(unsigned number) {
    const std::string path = file("backup" + std::to_string(number));
    if (!fs::exists(path)) {
      EXPECT_FALSE(records_->backups[number].has_returned.load());
      ++missing_;
      return;
    }
    ++found_;
    expect_success({OUTLAST_TOOL, "check", path});
    expect_success({BACKUP_KILLS_PROGRAM, "check", GetParam(), folder_.path().string(), path,
                    std::to_string(number)});
    fs::remove(path);
    fs::remove(path + ".part");
  }

  const scratch_folder folder_;
  kill_records* records_;
  unsigned found_ = 0;
  unsigned missing_ = 0;
};

TEST_P(BackupKills, leave_whole_backups_under_their_names) {
  std::mt19937 random(20261127);
  const unsigned kills = wanted_kills();
  for (unsigned round = 0; round < kills; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const bool killed = run_and_kill(std::chrono::microseconds(random() % 400'000));
    std::ifstream log(file("log"));
    ASSERT_TRUE(killed) << std::string(std::istreambuf_iterator<char>(log), {});
    for (unsigned number = 0; number < max_kill_backups; ++number) check_and_remove(number);
    if (HasFailure()) return;
  }
  expect_success(
      {BACKUP_KILLS_PROGRAM, "check", GetParam(), folder_.path().string(), file("pool")});
  std::cout << GetParam() << ": " << kills << " kills, " << found_ << " backups checked, "
            << missing_ << " not complete\n";
  EXPECT_GT(found_, 0u);
}

INSTANTIATE_TEST_SUITE_P(on_domains, BackupKills, testing::Values("native", "logged_file"),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace outlast::test::ends
