// Opening, restoring and appending.
#include "journal.h"

#include <cerrno>
#include <fstream>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "os/file.h"

namespace kw::front {
namespace fs = std::filesystem;

Status cut_file(const fs::path& path, std::uint64_t bytes) {
  std::error_code error;
  fs::resize_file(path, bytes, error);
  if (error)
    return fail(ErrorCode::kPermissionDenied, "cannot cut {} to {} bytes: {}", path.string(), bytes,
                error.message());
  return {};
}

Status Journal::check_path(const fs::path& path, bool resume) {
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  if (!fs::is_regular_file(path, error))
    return fail(ErrorCode::kInvalidArgument, "cannot write {}: not a regular file", path.string());
  if (resume || fs::file_size(path, error) == 0 || error) return {};
  return fail(ErrorCode::kAlreadyExists,
              "{} is there already: give --resume to go on with it, or another --out",
              path.string());
}

Result<Journal> Journal::open(const fs::path& path, const Visit& visit) {
  if (fs::path folder = path.parent_path(); !folder.empty()) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error)
      return fail(ErrorCode::kPermissionDenied, "cannot make the folder {}: {}", folder.string(),
                  error.message());
  }
  os::UniqueFd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock.valid()) return fail_errno(errno, "cannot write " + path.string());
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(ErrorCode::kAlreadyExists, "another run is writing {}", path.string());
  std::ifstream file(path);
  std::uint64_t whole_bytes = 0;
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    if (file.eof()) break;  // no newline at its end: cut while it was written
    ++number;
    if (auto visited = visit(line); !visited) {
      return tl::unexpected(
          std::move(visited).error().with_context(fmt::format("{}:{}", path.string(), number)));
    }
    whole_bytes += line.size() + 1;
  }
  KW_TRY_STATUS(cut_file(path, whole_bytes));
  return Journal(path, std::move(lock));
}

Status Journal::append(std::string_view line) {
  return os::append_line(path_, line);
}

}  // namespace kw::front
