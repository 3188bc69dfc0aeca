// Two folders: the cache, which can always be made again, and the evidence, which cannot.
#include "kernelwright/cache.h"

#include <system_error>

#include "base/text.h"

namespace kw::front {
namespace fs = std::filesystem;
namespace {

Json to_json(const fs::path& folder, const FolderSize& size) {
  return {{"path", folder.string()}, {"bytes", size.bytes}, {"files", size.files}};
}

std::string files_text(std::uint64_t count) {
  return fmt::format("{} file{}", count, count == 1 ? "" : "s");
}

std::string row(std::string_view label, const fs::path& folder, const FolderSize& size) {
  return fmt::format("{:<10} {:>10}  {}  {}\n", label, format_bytes(size.bytes),
                     files_text(size.files), folder.string());
}

Status empty(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) return {};
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    fs::remove_all(entry.path(), error);  // does not follow links
    if (error)
      return fail(ErrorCode::kPermissionDenied, "cannot remove {}: {}", entry.path().string(),
                  error.message());
  }
  if (error)
    return fail(ErrorCode::kPermissionDenied, "cannot read {}: {}", folder.string(),
                error.message());
  return {};
}

}  // namespace

FolderSize folder_size(const fs::path& folder) {
  FolderSize out;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    std::error_code gone;  // another process may remove files meanwhile
    if (!fs::is_regular_file(at->symlink_status(gone))) continue;
    auto bytes = at->file_size(gone);
    if (gone) continue;
    out.bytes += bytes;
    ++out.files;
  }
  return out;
}

Result<int> run_cache_size(const CacheSizeCommand& command, const Services& services) {
  FolderSize cache = folder_size(services.cache_folder);
  fs::path evidence_folder = services.data_folder / "evidence";
  FolderSize evidence = folder_size(evidence_folder);
  Json json = {{"cache", to_json(services.cache_folder, cache)},
               {"evidence", to_json(evidence_folder, evidence)}};
  KW_TRY_STATUS(services.console.out(command.json
                                         ? json.dump() + "\n"
                                         : row("cache", services.cache_folder, cache) +
                                               row("evidence", evidence_folder, evidence)));
  return 0;
}

Result<int> run_cache_clean(const CacheCleanCommand& command, const Services& services) {
  Json json = Json::object();
  std::string text;
  auto clean = [&](const char* name, const fs::path& folder) -> Status {
    FolderSize before = folder_size(folder);
    KW_TRY_STATUS(empty(folder));
    json["removed"][name] = to_json(folder, before);
    text += fmt::format("removed {} in {} from {}\n", format_bytes(before.bytes),
                        files_text(before.files), folder.string());
    return {};
  };
  KW_TRY_STATUS(clean("cache", services.cache_folder));
  if (command.evidence) KW_TRY_STATUS(clean("evidence", services.data_folder / "evidence"));
  KW_TRY_STATUS(services.console.out(command.json ? json.dump() + "\n" : text));
  return 0;
}

}  // namespace kw::front
