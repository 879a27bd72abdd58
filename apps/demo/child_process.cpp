// Shared memory and child processes of the demo.
#include <apps/demo/child_process.hpp>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>
#include <thread>
#include <utility>

#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace outlast::apps {
namespace {

[[noreturn]] void fail(int code, const char* what) {
  throw std::system_error(code, std::generic_category(), what);
}

child_end end_of(int status) {
  if (WIFSIGNALED(status)) return {0, WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

}  // namespace

shared_memory::shared_memory(int descriptor, std::size_t size)
    : descriptor_(descriptor), size_(size) {
  void* const mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (mapped == MAP_FAILED) {
    const int code = errno;
    ::close(descriptor);
    fail(code, "cannot map memory shared with child processes");
  }
  data_ = static_cast<std::byte*>(mapped);
}

shared_memory shared_memory::create(std::size_t bytes) {
  // Inherited by children: not close-on-exec.
  const int descriptor = ::memfd_create("outlast-shared", 0);
  if (descriptor < 0) fail(errno, "cannot create memory shared with child processes");
  if (::ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
    const int code = errno;
    ::close(descriptor);
    fail(code, "cannot size memory shared with child processes");
  }
  return shared_memory(descriptor, bytes);
}

shared_memory shared_memory::attach(int descriptor) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0 || status.st_size == 0) {
    fail(EBADF, "this command is for child processes of `outlast demo` only");
  }
  return shared_memory(descriptor, static_cast<std::size_t>(status.st_size));
}

shared_memory::shared_memory(shared_memory&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      size_(other.size_) {}

shared_memory::~shared_memory() {
  if (data_ != nullptr) ::munmap(data_, size_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

child_process::child_process(const std::vector<std::string>& arguments) {
  std::vector<std::string> words{"outlast-demo"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int code = ::posix_spawn(&id_, "/proc/self/exe", nullptr, nullptr, argv.data(), environ);
  if (code != 0) fail(code, "cannot start this program again (/proc/self/exe)");
}

child_process::~child_process() {
  if (!end_) kill();
}

std::optional<child_end> child_process::poll() {
  int status = 0;
  if (!end_ && ::waitpid(id_, &status, WNOHANG) == id_) end_ = end_of(status);
  return end_;
}

child_end child_process::wait() {
  int status = 0;
  while (!end_) {
    if (::waitpid(id_, &status, 0) == id_)
      end_ = end_of(status);
    else if (errno != EINTR)
      fail(errno, "cannot wait for a child process");
  }
  return *end_;
}

bool child_process::stop() {
  using namespace std::chrono_literals;
  // The signal is repeated, because another process may continue the child in between.
  for (int status = 0; !end_; std::this_thread::sleep_for(20us)) {
    ::kill(id_, SIGSTOP);
    if (::waitpid(id_, &status, WUNTRACED | WNOHANG) != id_) continue;
    if (WIFSTOPPED(status)) return true;  // reported when all of its threads have stopped
    end_ = end_of(status);
  }
  return false;
}

void child_process::go_on() {
  if (!end_) ::kill(id_, SIGCONT);
}

child_end child_process::kill() {
  if (!end_) ::kill(id_, SIGKILL);
  return wait();
}

void die_with_parent() {
  const pid_t parent = ::getppid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent || parent == 1) ::_exit(1);
}

}  // namespace outlast::apps
