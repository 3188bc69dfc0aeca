// Files.
#include "os/file.h"

#include <cerrno>
#include <cstdlib>
#include <vector>

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/fd.h"

namespace kw::os {
namespace {

std::filesystem::path home_folder(const char* variable, const char* below_home) {
  // NOLINTBEGIN(concurrency-mt-unsafe): the environment is read before threads start and never
  // written.
  if (const char* set = std::getenv(variable); set != nullptr && set[0] == '/')
    return std::filesystem::path(set) / "kernelwright";
  const char* home = std::getenv("HOME");
  if (home == nullptr || home[0] != '/') {
    const passwd* entry = ::getpwuid(::geteuid());
    home = entry != nullptr ? entry->pw_dir : "/tmp";
  }
  // NOLINTEND(concurrency-mt-unsafe)
  return std::filesystem::path(home) / below_home / "kernelwright";
}

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path, std::size_t max_bytes) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return fail_errno(errno, "cannot open " + path.string());
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return fail_errno(errno, "cannot read " + path.string());
  if (!S_ISREG(info.st_mode))
    return fail(ErrorCode::kInvalidArgument, "{} is not a regular file", path.string());
  if (static_cast<std::size_t>(info.st_size) > max_bytes) {
    return fail(ErrorCode::kResourceExhausted, "{} has {} bytes, more than the {} that are read",
                path.string(), info.st_size, max_bytes);
  }
  auto content = read_to_end(fd.get(), max_bytes);
  if (!content) return tl::unexpected(std::move(content).error().with_context(path.string()));
  return content;
}

Status write_file_atomic(const std::filesystem::path& path, std::string_view content) {
  std::string beside = path.string() + ".XXXXXX";
  UniqueFd fd(::mkostemp(beside.data(), O_CLOEXEC));
  if (!fd.valid()) return fail_errno(errno, "cannot write " + path.string());
  auto written = write_all(fd.get(), content);
  if (written && ::fsync(fd.get()) != 0) written = fail_errno(errno, "cannot sync");
  if (written && ::fchmod(fd.get(), 0644) != 0) written = fail_errno(errno, "cannot set the mode");
  if (written && ::rename(beside.c_str(), path.c_str()) != 0)
    written = fail_errno(errno, "cannot rename");
  if (!written) {
    ::unlink(beside.c_str());
    return tl::unexpected(std::move(written).error().with_context("writing " + path.string()));
  }
  return {};
}

Status append_line(const std::filesystem::path& path, std::string_view line) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!fd.valid()) return fail_errno(errno, "cannot open " + path.string());
  std::string record(line);
  record += '\n';
  KW_TRY_STATUS(write_all(fd.get(), record));
  if (::fdatasync(fd.get()) != 0 && errno != EINVAL)
    return fail_errno(errno, "cannot sync " + path.string());
  return {};
}

Result<TempDir> TempDir::make(const std::string& prefix) {
  std::error_code ignored;
  std::filesystem::path base = std::filesystem::temp_directory_path(ignored);
  if (base.empty()) base = "/tmp";
  std::string name = (base / (prefix + "XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr)
    return fail_errno(errno, "cannot make a temporary folder in " + base.string());
  return TempDir(name);
}

TempDir& TempDir::operator=(TempDir&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

TempDir::~TempDir() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path cache_home() {
  return home_folder("XDG_CACHE_HOME", ".cache");
}
std::filesystem::path data_home() {
  return home_folder("XDG_DATA_HOME", ".local/share");
}

std::filesystem::path program_folder() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
}

}  // namespace kw::os
