// What takes one change of a file or of a directory back while later ones stay: a power cut may
// keep what was done later and lose what was done before it, until both are synced.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace outlast::test::files {

/// A file or directory, whatever it is called.
struct identity {
  dev_t device = 0;
  ino_t number = 0;

  friend bool operator==(const identity&, const identity&) = default;
};
[[nodiscard]] std::optional<identity> identity_of(const std::string& path);
[[nodiscard]] std::optional<identity> identity_of(int descriptor);

class kept_change {
 public:
  /// Before a change, each. `kept`: a directory for what has to be brought back.
  [[nodiscard]] static kept_change of_new_name(const std::string& path);
  [[nodiscard]] static kept_change of_removal(const std::string& path, const std::string& kept);
  [[nodiscard]] static kept_change of_rename(const std::string& from, const std::string& to,
                                             const std::string& kept);
  [[nodiscard]] static kept_change of_new_directory(const std::string& path);
  [[nodiscard]] static kept_change of_removed_directory(const std::string& path);
  /// `size` bytes from `offset` on, and the file's length.
  [[nodiscard]] static kept_change of_data(int descriptor, std::uint64_t offset, std::size_t size);

  /// After the change.
  void done();
  /// Would a sync of this file or directory make it durable?
  [[nodiscard]] bool is_covered_by(const identity& synced) const { return cover_ == synced; }
  /// A later change of data: it stays.
  void note_write(const identity& file, std::uint64_t offset, std::size_t size);
  void take_back();

 private:
  using piece = std::pair<std::uint64_t, std::uint64_t>;  // begin, end

  [[nodiscard]] std::vector<piece> pieces_to_restore(std::uint64_t begin, std::uint64_t end) const;
  void restore_data() const;

  std::optional<identity> cover_;  // the directory of a name, the file of data
  std::function<void()> done_;
  std::function<void()> take_back_;
  int file_ = -1;
  std::uint64_t offset_ = 0;
  std::uint64_t length_ = 0;
  std::vector<char> old_;
  std::vector<piece> later_;
};

}  // namespace outlast::test::files
