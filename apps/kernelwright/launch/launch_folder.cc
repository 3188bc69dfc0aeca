#include "kernelwright/launch/launch_folder.h"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "os/fd.h"
#include "os/file.h"
#include "service/service_client.h"

namespace kw::front {
namespace fs = std::filesystem;
namespace {

// A file that its owner alone may read. What is there already stays.
Status write_secret(const fs::path& file, std::string_view text) {
  const os::UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) return fail_errno(errno, "cannot write " + file.string());
  return os::write_all(fd.get(), text);
}

}  // namespace

LaunchPaths launch_paths(const fs::path& folder, const fs::path& program) {
  LaunchPaths out;
  out.folder = fs::absolute(folder).lexically_normal();
  out.program = program;
  out.data = out.folder / "tasks";
  const char* python = std::getenv("KW_PYTHON");  // NOLINT(concurrency-mt-unsafe): never written
  if (python != nullptr) out.python = python;
  return out;
}

Status make_folder(const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed)
    return fail(ErrorCode::kInvalidArgument, "cannot make {}: {}", folder.string(),
                failed.message());
  return {};
}

Status make_tokens(const LaunchPaths& paths) {
  const bool is_there = fs::exists(paths.token()) && fs::exists(paths.tokens());
  if (is_there) return {};
  const std::string token = service::unique_name();
  KW_TRY_STATUS(write_secret(paths.token(), token + "\n"));
  return write_secret(paths.tokens(), "sha256:" + sha256_hex(token) + "\n");
}

}  // namespace kw::front
