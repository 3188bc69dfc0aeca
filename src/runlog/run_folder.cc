// The folder's files.
#include "runlog/run_folder.h"

#include "base/hash.h"
#include "os/file.h"
#include "text/toml.h"

namespace kw::runlog {
namespace fs = std::filesystem;
namespace {

fs::path events_of(const fs::path& folder) {
  return folder / "events.jsonl";
}
fs::path settings_of(const fs::path& folder) {
  return folder / "run.toml";
}
fs::path blob_of(const fs::path& folder, const std::string& hash) {
  return folder / "blobs" / hash.substr(0, 2) / hash;
}

// Also keeps paths out of what a file claims to be a hash.
Status check_hash(const std::string& hash) {
  if (hash.size() == 64 && hash.find_first_not_of("0123456789abcdef") == std::string::npos)
    return {};
  return fail(ErrorCode::kInvalidArgument, "\"{}\" is no SHA-256", hash.substr(0, 80));
}

Status make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) return {};
  return fail(ErrorCode::kPermissionDenied, "cannot make the folder {}: {}", folder.string(),
              error.message());
}

os::Journal::Visit into(Run& run) {
  return [&run](const std::string& line) -> Status {
    KW_TRY(Json value, parse_json(line));
    KW_TRY(Event event, event_from_json(value));
    return run.apply(event);
  };
}

Status check_begun(const fs::path& folder, const Run& run) {
  if (!run.header.at.empty()) return {};
  return fail(ErrorCode::kNotFound, "{}: no run has begun here", folder.string());
}

}  // namespace

Result<RunFolder> RunFolder::create(const fs::path& folder, const Json& settings) {
  std::error_code error;
  if (fs::exists(events_of(folder), error) && fs::file_size(events_of(folder), error) > 0)
    return fail(ErrorCode::kAlreadyExists, "there is a run in {} already", folder.string());
  KW_TRY_STATUS(make_folder(folder));
  KW_TRY(os::Journal journal,
         os::Journal::open(events_of(folder), [&](const std::string&) -> Status {
           return fail(ErrorCode::kAlreadyExists, "there is a run in {} already", folder.string());
         }));
  KW_TRY_STATUS(os::write_file_atomic(settings_of(folder), text::to_toml(settings)));
  return RunFolder(folder, std::move(journal));
}

Result<RunFolder> RunFolder::resume(const fs::path& folder, Run& run) {
  std::error_code error;
  if (!fs::is_regular_file(events_of(folder), error))
    return fail(ErrorCode::kNotFound, "{}: no run is there (events.jsonl is missing)",
                folder.string());
  KW_TRY(os::Journal journal, os::Journal::open(events_of(folder), into(run)));
  KW_TRY_STATUS(check_begun(folder, run));
  return RunFolder(folder, std::move(journal));
}

Result<Run> RunFolder::read(const fs::path& folder) {
  Run run;
  KW_TRY_STATUS(os::Journal::read(events_of(folder), into(run)));
  KW_TRY_STATUS(check_begun(folder, run));
  return run;
}

Result<Json> RunFolder::read_settings(const fs::path& folder) {
  KW_TRY(std::string text, os::read_file(settings_of(folder)));
  return text::json_from_toml(text, settings_of(folder).string());
}

Status RunFolder::append(const Event& event) {
  return journal_.append(to_json(event).dump(-1, ' ', false, Json::error_handler_t::replace));
}

Result<std::string> RunFolder::put(std::string_view bytes) const {
  std::string hash = sha256_hex(bytes);
  const fs::path path = blob_of(folder_, hash);
  std::error_code error;
  if (fs::exists(path, error)) return hash;
  KW_TRY_STATUS(make_folder(path.parent_path()));
  KW_TRY_STATUS(os::write_file_atomic(path, bytes));
  return hash;
}

Result<std::string> RunFolder::get(const fs::path& folder, const std::string& hash) {
  KW_TRY_STATUS(check_hash(hash));
  KW_TRY(std::string bytes, os::read_file(blob_of(folder, hash)));
  if (sha256_hex(bytes) == hash) return bytes;
  return fail(ErrorCode::kDataLoss, "{} does not have its name's hash",
              blob_of(folder, hash).string());
}

}  // namespace kw::runlog
