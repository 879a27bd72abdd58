// The files below a directory, to be brought back again and again: the same files, by their
// numbers, with the content that they had.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace outlast::test::files {

class snapshot {
 public:
  /// Of what is below `root` now. `kept`: a directory on the same file system.
  snapshot(std::string root, const std::string& kept);
  /// Removes what is below the directory, and brings the files back.
  void restore() const;

 private:
  struct piece {
    off_t offset;
    std::string bytes;
  };
  struct file {
    std::string path;
    std::string other_name;  // by which it stays
    mode_t mode;
    off_t size;
    std::vector<piece> pieces;  // between its holes
  };

  std::string root_;
  std::vector<std::pair<std::string, mode_t>> directories_;  // the outer before the inner
  std::vector<file> files_;
};

}  // namespace outlast::test::files
