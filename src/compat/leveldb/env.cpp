// Functions of LevelDB's Env that do not depend on the operating system.
#include <outlast/db/comparator.hpp>
#include <outlast/db/env.hpp>
#include <outlast/db/options.hpp>

#include <array>
#include <cstdarg>
#include <cstddef>
#include <memory>
#include <string>

namespace OUTLAST_DB_NAMESPACE {

Env::Env() = default;
Env::~Env() = default;
SequentialFile::~SequentialFile() = default;
RandomAccessFile::~RandomAccessFile() = default;
WritableFile::~WritableFile() = default;
Logger::~Logger() = default;
FileLock::~FileLock() = default;
EnvWrapper::~EnvWrapper() = default;

Options::Options() : comparator(BytewiseComparator()), env(Env::Default()) {}

Status Env::NewAppendableFile(const std::string& fname, WritableFile** result) {
  *result = nullptr;
  return Status::NotSupported("this Env does not append to files", fname);
}

Status Env::RemoveFile(const std::string& fname) { return DeleteFile(fname); }
Status Env::DeleteFile(const std::string& fname) { return RemoveFile(fname); }
Status Env::RemoveDir(const std::string& dirname) { return DeleteDir(dirname); }
Status Env::DeleteDir(const std::string& dirname) { return RemoveDir(dirname); }

void Log(Logger* info_log, const char* format, ...) {
  if (info_log == nullptr) return;
  std::va_list arguments;
  va_start(arguments, format);
  info_log->Logv(format, arguments);
  va_end(arguments);
}

Status WriteStringToFile(Env* env, const Slice& data, const std::string& fname) {
  WritableFile* opened = nullptr;
  Status status = env->NewWritableFile(fname, &opened);
  if (!status.ok()) return status;
  const std::unique_ptr<WritableFile> file(opened);
  status = file->Append(data);
  if (status.ok()) status = file->Close();
  if (!status.ok()) static_cast<void>(env->RemoveFile(fname));
  return status;
}

Status ReadFileToString(Env* env, const std::string& fname, std::string* data) {
  data->clear();
  SequentialFile* opened = nullptr;
  Status status = env->NewSequentialFile(fname, &opened);
  if (!status.ok()) return status;
  const std::unique_ptr<SequentialFile> file(opened);
  std::array<char, 8192> room;
  for (;;) {
    Slice next;
    status = file->Read(room.size(), &next, room.data());
    if (!status.ok() || next.empty()) return status;
    data->append(next.view());
  }
}

}  // namespace OUTLAST_DB_NAMESPACE
