// A folder loses its name before its files: what a kill leaves of it is never taken for a
// checkpoint.
#include "train/run/checkpoint_folders.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace kw::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPartial = "partial-";

fs::path folder_of(const fs::path& run) {
  return run / "checkpoints";
}

std::string name_of(std::int64_t step) {
  return fmt::format("step-{:06}", step);
}

Error failed(const char* what, const fs::path& path, const std::error_code& error) {
  return {ErrorCode::kPermissionDenied,
          fmt::format("cannot {} {}: {}", what, path.string(), error.message())};
}

Status remove_folder(const fs::path& path) {
  const std::string name = path.filename();
  fs::path partial = path;
  std::error_code error;
  if (!name.starts_with(kPartial)) {
    partial = path.parent_path() / (kPartial + name);
    fs::remove_all(partial, error);
    if (!error) fs::rename(path, partial, error);
  }
  if (!error) fs::remove_all(partial, error);
  if (error) return tl::unexpected(failed("remove", path, error));
  return {};
}

struct Folders {
  std::vector<fs::path> complete;    // by step
  std::vector<fs::path> unfinished;  // left by a process that was killed
};

Result<Folders> folders_in(const fs::path& run) {
  Folders out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_of(run), error)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(kPartial)) {
      out.unfinished.push_back(entry.path());
    } else if (name.starts_with("step-")) {
      std::error_code ignored;
      const bool done = fs::exists(entry.path() / kCheckpointDone, ignored);
      (done ? out.complete : out.unfinished).push_back(entry.path());
    }
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return tl::unexpected(failed("read", folder_of(run), error));
  std::sort(out.complete.begin(), out.complete.end(), [](const fs::path& a, const fs::path& b) {
    const std::string first = a.filename(), second = b.filename();
    return std::pair(first.size(), first) < std::pair(second.size(), second);
  });
  return out;
}

}  // namespace

Result<std::vector<fs::path>> checkpoints_in(const fs::path& run) {
  KW_TRY(Folders found, folders_in(run));
  return std::move(found.complete);
}

Result<fs::path> begin_checkpoint(const fs::path& run, std::int64_t step) {
  KW_TRY(Folders found, folders_in(run));
  for (const fs::path& path : found.unfinished) KW_TRY_STATUS(remove_folder(path));
  const fs::path final = folder_of(run) / name_of(step);
  // Of a run that was cut back.
  std::error_code error;
  if (fs::exists(final, error)) KW_TRY_STATUS(remove_folder(final));
  fs::path partial = folder_of(run) / (kPartial + name_of(step));
  fs::create_directories(partial, error);
  if (error) return tl::unexpected(failed("make", partial, error));
  return partial;
}

Result<fs::path> finish_checkpoint(const fs::path& run, std::int64_t step, std::int64_t keep) {
  fs::path final = folder_of(run) / name_of(step);
  std::error_code error;
  fs::rename(folder_of(run) / (kPartial + name_of(step)), final, error);
  if (error) return tl::unexpected(failed("rename to", final, error));
  KW_TRY(const Folders found, folders_in(run));
  const std::vector<fs::path>& all = found.complete;
  for (std::size_t i = 0; keep > 0 && i + static_cast<std::size_t>(keep) < all.size(); ++i)
    KW_TRY_STATUS(remove_folder(all[i]));
  return final;
}

}  // namespace kw::train
