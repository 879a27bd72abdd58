#include <tests/files/snapshot.hpp>

#include <filesystem>
#include <stdexcept>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace outlast::test::files {

namespace fs = std::filesystem;

namespace {

void require(bool succeeded, const std::string& path) {
  if (!succeeded) throw std::runtime_error("cannot keep or bring back " + path);
}

}  // namespace

snapshot::snapshot(std::string root, const std::string& kept) : root_(std::move(root)) {
  for (const auto& each : fs::recursive_directory_iterator(root_)) {
    const std::string path = each.path().string();
    struct stat status{};
    require(::stat(path.c_str(), &status) == 0, path);
    if (S_ISDIR(status.st_mode)) {
      directories_.emplace_back(path, status.st_mode & 0777);
      continue;
    }
    file one{path,
             kept + "/" + std::to_string(files_.size()),
             status.st_mode & 0777,
             status.st_size,
             {}};
    require(::link(path.c_str(), one.other_name.c_str()) == 0, path);
    const int in = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    for (off_t at = 0; (at = ::lseek(in, at, SEEK_DATA)) >= 0;) {
      const off_t end = ::lseek(in, at, SEEK_HOLE);
      std::string bytes(static_cast<std::size_t>(end - at), '\0');
      const ssize_t got = ::pread(in, bytes.data(), bytes.size(), at);
      require(got == static_cast<ssize_t>(bytes.size()), path);
      one.pieces.push_back({at, std::move(bytes)});
      at = end;
    }
    ::close(in);
    files_.push_back(std::move(one));
  }
}

void snapshot::restore() const {
  for (const auto& each : fs::directory_iterator(root_)) fs::remove_all(each.path());
  for (const auto& [path, mode] : directories_) {
    require(::mkdir(path.c_str(), mode) == 0, path);
    require(::chmod(path.c_str(), mode) == 0, path);
  }
  for (const file& each : files_) {
    const int out = ::open(each.other_name.c_str(), O_WRONLY | O_CLOEXEC);
    require(out >= 0 && ::ftruncate(out, 0) == 0 && ::ftruncate(out, each.size) == 0, each.path);
    for (const piece& part : each.pieces) {
      const ssize_t done = ::pwrite(out, part.bytes.data(), part.bytes.size(), part.offset);
      require(done == static_cast<ssize_t>(part.bytes.size()), each.path);
    }
    require(::fchmod(out, each.mode) == 0, each.path);
    ::close(out);
    require(::link(each.other_name.c_str(), each.path.c_str()) == 0, each.path);
  }
}

}  // namespace outlast::test::files
