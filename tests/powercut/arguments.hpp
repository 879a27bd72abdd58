// Arguments of the campaign programs: `--name value`, values being numbers or words.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

namespace outlast::test::powercut {

class arguments {
 public:
  /// `defaults` names every argument there is. Throws std::invalid_argument for another.
  arguments(int argc, const char* const* argv, std::map<std::string, std::string> defaults)
      : values_(std::move(defaults)) {
    for (int i = 1; i < argc; i += 2) {
      const std::string name = argv[i];
      if (!values_.contains(name)) throw std::invalid_argument("there is no argument " + name);
      if (i + 1 == argc) throw std::invalid_argument(name + " needs a value");
      values_[name] = argv[i + 1];
    }
  }

  [[nodiscard]] const std::string& text(const std::string& name) const { return values_.at(name); }
  [[nodiscard]] std::uint64_t number(const std::string& name) const {
    std::size_t used = 0;
    const std::string& value = values_.at(name);
    const std::uint64_t result = std::stoull(value, &used);
    if (used != value.size()) throw std::invalid_argument(name + " is not a number: " + value);
    return result;
  }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace outlast::test::powercut
