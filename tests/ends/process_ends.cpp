// process_ends WAY FAMILY DOMAIN DIRECTORY: a process that ends in one way. "check", "check-closed"
// as the way: what is there afterwards. Exit status 0: nothing is wrong.
// process_ends descriptors DIRECTORY: no descriptor of a file there is open.
// process_ends ways: a line for each, of its name, whether it closes what it uses, and what it is.
#include <tests/ends/ways.hpp>

#include <exception>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace outlast::test::ends {
namespace {

namespace fs = std::filesystem;

int print_ways() {
  for (const way& each : all_ways()) {
    std::cout << each.name << '\t' << each.closes << '\t' << each.what_for << '\n';
  }
  return 0;
}

int look_for_descriptors(const std::string& directory) {
  for (const auto& each : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = fs::read_symlink(each.path(), gone).string();
    // Of the test itself.
    if (target.starts_with(directory) && target.find("/test.") == std::string::npos) {
      std::cerr << "inherited: " << target << '\n';
      return 2;
    }
  }
  return 0;
}

progress* map_progress(const std::string& directory) {
  const std::string file = directory + "/test.progress";
  const int opened = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (opened < 0 || ::ftruncate(opened, sizeof(progress)) != 0) throw std::runtime_error(file);
  void* const at = ::mmap(nullptr, sizeof(progress), PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0);
  ::close(opened);
  if (at == MAP_FAILED) throw std::runtime_error(file);
  return static_cast<progress*>(at);
}

int run(std::string_view how, incarnation& in) {
  if (how.starts_with("check")) {
    const std::string wrong = check_incarnation(in, how == "check-closed");
    if (!wrong.empty()) std::cerr << wrong << '\n';
    return wrong.empty() ? 0 : 2;
  }
  for (const way& each : all_ways()) {
    if (how == each.name) return each.run(in);
  }
  std::cerr << "no such way: " << how << '\n';
  return 1;
}

}  // namespace
}  // namespace outlast::test::ends

int main(int count, char** arguments) {
  using namespace outlast::test::ends;
  ::alarm(40);
  static incarnation in;  // there until the end
  try {
    if (count == 2) return print_ways();
    if (count == 3) return look_for_descriptors(arguments[2]);
    if (count != 5) return 1;
    in.family = arguments[2];
    in.domain = arguments[3];
    in.directory = arguments[4];
    in.seen = map_progress(in.directory);
    in.used = make_subject(in.family, in.domain).release();
    if (in.used == nullptr) return 1;
    return run(arguments[1], in);
  } catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 4;
  }
}
