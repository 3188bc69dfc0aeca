// Appending, and restoring after a crash.
#include "result_files.h"

#include <cerrno>
#include <fstream>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/text.h"
#include "gym/gym.h"
#include "os/file.h"
#include "task/jsonl.h"

namespace kw::front {
namespace fs = std::filesystem;
namespace {

constexpr int kSchema = 1;

bool has_content(const fs::path& path) {
  std::error_code error;
  auto size = fs::file_size(path, error);
  return !error && size > 0;
}

Status cut(const fs::path& path, std::uint64_t bytes) {
  std::error_code error;
  fs::resize_file(path, bytes, error);
  if (error)
    return fail(ErrorCode::kPermissionDenied, "cannot cut {} to {} bytes: {}", path.string(), bytes,
                error.message());
  return {};
}

struct Commit {
  std::int64_t gym_version = 0;
  std::uint64_t trace_bytes = 0;
  Json judged_with;
  task::Verdict verdict;
};

Result<Commit> commit_from_line(const std::string& line) {
  Commit out;
  KW_TRY(Json value, parse_json(line));
  KW_TRY(ObjectReader reader, ObjectReader::make(value, ""));
  KW_TRY(std::int64_t schema, reader.integer("schema"));
  if (schema != kSchema)
    return fail(ErrorCode::kUnsupported, "schema {} was written by another version of this program",
                schema);
  KW_TRY(out.gym_version, reader.integer("gym_version"));
  KW_TRY(std::int64_t bytes, reader.integer("trace_bytes"));
  if (bytes < 0) return fail(ErrorCode::kInvalidArgument, "trace_bytes: negative");
  out.trace_bytes = static_cast<std::uint64_t>(bytes);
  out.judged_with = value.value("judged_with", Json());
  KW_TRY(const Json* verdict, reader.get("verdict"));
  KW_TRY(out.verdict, task::verdict_from_json(*verdict, "verdict"));
  return out;
}

}  // namespace

Result<ResultFiles> ResultFiles::open(const Options& options, const Visit& visit) {
  fs::path log = verdict_log(options.out);
  for (const fs::path& path : {options.out, log}) {
    // Before anything is made: a folder, or a device that cannot be cut back.
    if (std::error_code error; fs::exists(path, error) && !fs::is_regular_file(path, error))
      return fail(ErrorCode::kInvalidArgument, "cannot write {}: not a regular file",
                  path.string());
    if (options.resume || !has_content(path)) continue;
    return fail(ErrorCode::kAlreadyExists,
                "{} is there already: give --resume to go on with it, or another --out",
                path.string());
  }
  if (fs::path folder = options.out.parent_path(); !folder.empty()) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error)
      return fail(ErrorCode::kPermissionDenied, "cannot make the folder {}: {}", folder.string(),
                  error.message());
  }
  os::UniqueFd lock(::open(log.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock.valid()) return fail_errno(errno, "cannot write " + log.string());
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(ErrorCode::kAlreadyExists, "another run is writing {}", log.string());
  }
  os::UniqueFd traces(::open(options.out.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!traces.valid()) return fail_errno(errno, "cannot write " + options.out.string());
  ResultFiles files(options, std::move(lock));
  KW_TRY_STATUS(files.restore(visit));
  return files;
}

Status ResultFiles::restore(const Visit& visit) {
  std::ifstream log(verdicts());
  std::uint64_t whole_bytes = 0;
  std::size_t number = 0;
  for (std::string line; std::getline(log, line);) {
    if (log.eof()) break;  // no newline at its end: cut while it was written
    ++number;
    auto commit = commit_from_line(line);
    if (!commit) {
      return tl::unexpected(std::move(commit).error().with_context(
          fmt::format("{}:{}", verdicts().string(), number)));
    }
    whole_bytes += line.size() + 1;
    trace_bytes_ = commit->trace_bytes;
    bool same = commit->gym_version == gym::kGymVersion && commit->judged_with == judged_with_;
    if (same) KW_TRY_STATUS(visit(commit->verdict));
  }
  KW_TRY_STATUS(cut(verdicts(), whole_bytes));
  std::error_code error;
  std::uint64_t size = fs::file_size(out_, error);
  if (error || size < trace_bytes_) {
    return fail(ErrorCode::kDataLoss, "{} is shorter than {} says: {} of {} bytes", out_.string(),
                verdicts().string(), size, trace_bytes_);
  }
  return cut(out_, trace_bytes_);
}

Status ResultFiles::append(const task::Verdict& verdict, const std::vector<task::Trace>& traces) {
  std::vector<std::string> lines;
  for (const task::Trace& trace : traces) {
    lines.push_back(to_json(trace).dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  if (!lines.empty()) {
    std::string text = join(lines, "\n");
    KW_TRY_STATUS(os::append_line(out_, text));
    trace_bytes_ += text.size() + 1;
  }
  Json commit = {{"schema", kSchema},
                 {"gym_version", gym::kGymVersion},
                 {"trace_bytes", trace_bytes_},
                 {"judged_with", judged_with_},
                 {"verdict", to_json(verdict)}};
  return os::append_line(verdicts(), commit.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace kw::front
