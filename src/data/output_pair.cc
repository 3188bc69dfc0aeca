#include "data/output_pair.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace kw::data {
namespace fs = std::filesystem;
namespace {

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

fs::path partial_of(const fs::path& path) {
  fs::path name = path.has_filename() ? path : path.parent_path();  // "out/" is "out"
  return name += ".partial";
}

}  // namespace

Result<OutputPair> OutputPair::create(const fs::path& path, const fs::path& beside,
                                      Existing existing) {
  const bool cut_off =
      !is_there(path) && (existing == Existing::kGoneOnWith || is_there(partial_of(path)));
  const bool replace = existing == Existing::kReplaced;
  KW_TRY(OutputFile out, OutputFile::create(path, replace));
  if (beside.empty()) return OutputPair(std::move(out), std::nullopt);
  KW_TRY(OutputFile second, OutputFile::create(beside, replace || cut_off));
  return OutputPair(std::move(out), std::move(second));
}

Status OutputPair::close() {
  KW_TRY_STATUS(out_.sync());  // so that a full disk leaves neither
  if (beside_) KW_TRY_STATUS(beside_->close());
  return out_.close();
}

Result<OutputFolder> OutputFolder::create(const fs::path& path) {
  std::error_code error;
  if (fs::exists(path, error) && (!fs::is_directory(path, error) || !fs::is_empty(path, error)))
    return fail(ErrorCode::kAlreadyExists, "{}: is there already", path.string());
  fs::path partial = partial_of(path);
  fs::create_directories(partial, error);
  if (error)
    return fail(ErrorCode::kPermissionDenied, "cannot make the folder {}: {}", path.string(),
                error.message());
  os::UniqueFd lock(::open(partial.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock.valid()) return fail_errno(errno, "cannot write " + path.string());
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(ErrorCode::kAlreadyExists, "another run is writing {}", path.string());
  for (const fs::directory_entry& left : fs::directory_iterator(partial, error)) {
    fs::remove_all(left.path(), error);
    if (error) break;
  }
  if (error)
    return fail(ErrorCode::kPermissionDenied, "cannot empty {}: {}", partial.string(),
                error.message());
  return OutputFolder(path, std::move(partial), std::move(lock));
}

OutputFolder::OutputFolder(OutputFolder&& other) noexcept
    : path_(std::move(other.path_)),
      partial_(std::exchange(other.partial_, {})),
      lock_(std::move(other.lock_)) {}

OutputFolder& OutputFolder::operator=(OutputFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(partial_, other.partial_);
  std::swap(lock_, other.lock_);
  return *this;
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  if (!partial_.empty()) fs::remove_all(partial_, ignored);
}

Status OutputFolder::close() {
  if (::fsync(lock_.get()) != 0) return fail_errno(errno, "cannot sync " + partial_.string());
  if (::rename(partial_.c_str(), path_.c_str()) != 0)
    return fail_errno(errno, "cannot rename to " + path_.string());
  partial_.clear();
  return {};
}

}  // namespace kw::data
