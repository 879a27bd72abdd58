#include <apps/server/password_file.hpp>

#include <fstream>
#include <stdexcept>

namespace outlast::apps {

std::string password_in(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  if (!std::getline(in, line) || line.empty()) {
    throw std::runtime_error("the password file " + path +
                             " cannot be read, or its first line is empty");
  }
  return line;
}

}  // namespace outlast::apps
