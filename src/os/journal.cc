// Opening, restoring and appending.
#include "os/journal.h"

#include <cerrno>
#include <fstream>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "os/file.h"

namespace kw::os {
namespace fs = std::filesystem;
namespace {

// The length of the whole lines.
Result<std::uint64_t> read_lines(const fs::path& path, const Journal::Visit& visit) {
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
  return whole_bytes;
}

}  // namespace

Status cut_file(const fs::path& path, std::uint64_t bytes) {
  std::error_code error;
  fs::resize_file(path, bytes, error);
  if (error)
    return fail(ErrorCode::kPermissionDenied, "cannot cut {} to {} bytes: {}", path.string(), bytes,
                error.message());
  return {};
}

Result<Journal> Journal::open(const fs::path& path, const Visit& visit) {
  if (fs::path folder = path.parent_path(); !folder.empty()) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error)
      return fail(ErrorCode::kPermissionDenied, "cannot make the folder {}: {}", folder.string(),
                  error.message());
  }
  UniqueFd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock.valid()) return fail_errno(errno, "cannot write " + path.string());
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(ErrorCode::kAlreadyExists, "another run is writing {}", path.string());
  KW_TRY(std::uint64_t whole_bytes, read_lines(path, visit));
  KW_TRY_STATUS(cut_file(path, whole_bytes));
  return Journal(path, std::move(lock), whole_bytes);
}

Status Journal::read(const fs::path& path, const Visit& visit) {
  std::error_code error;
  if (!fs::is_regular_file(path, error))
    return fail(ErrorCode::kNotFound, "{}: no such file", path.string());
  auto read = read_lines(path, visit);
  return read ? Status() : tl::unexpected(std::move(read).error());
}

Status Journal::append(std::string_view line) {
  if (broken_)
    return fail(ErrorCode::kUnavailable, "{} could not be written before", path_.string());
  auto appended = os::append_line(path_, line);
  if (appended) {
    bytes_ += line.size() + 1;
    return {};
  }
  broken_ = true;
  auto error = std::move(appended).error().with_context("writing " + path_.string());
  if (auto cut = cut_file(path_, bytes_); !cut)
    error = std::move(error).with_context(cut.error().message());
  return tl::unexpected(std::move(error));
}

}  // namespace kw::os
