// Appending, and restoring after a crash.
#include "kernelwright/eval/result_files.h"

#include <cerrno>

#include <fcntl.h>

#include "base/text.h"
#include "gym/gym.h"
#include "os/fd.h"
#include "os/file.h"
#include "text/jsonl.h"

namespace kw::front {
namespace fs = std::filesystem;
namespace {

constexpr int kSchema = 1;

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

Status check_out_path(const fs::path& path, bool resume) {
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  if (!fs::is_regular_file(path, error))
    return fail(ErrorCode::kInvalidArgument, "cannot write {}: not a regular file", path.string());
  if (resume || fs::file_size(path, error) == 0 || error) return {};
  return fail(ErrorCode::kAlreadyExists,
              "{} is there already: give --resume to go on with it, or another --out",
              path.string());
}

Result<ResultFiles> ResultFiles::open(const Options& options, const Visit& visit) {
  fs::path log = verdict_log(options.out);
  for (const fs::path& path : {options.out, log})
    KW_TRY_STATUS(check_out_path(path, options.resume));
  std::uint64_t trace_bytes = 0;
  auto read = [&](const std::string& line) -> Status {
    KW_TRY(Commit commit, commit_from_line(line));
    trace_bytes = commit.trace_bytes;
    bool same = commit.gym_version == gym::kGymVersion && commit.judged_with == options.judged_with;
    return same ? visit(commit.verdict) : Status();
  };
  KW_TRY(os::Journal journal, os::Journal::open(log, read));
  os::UniqueFd traces(::open(options.out.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!traces.valid()) return fail_errno(errno, "cannot write " + options.out.string());
  std::error_code error;
  std::uint64_t size = fs::file_size(options.out, error);
  if (error || size < trace_bytes) {
    return fail(ErrorCode::kDataLoss, "{} is shorter than {} says: {} of {} bytes",
                options.out.string(), log.string(), size, trace_bytes);
  }
  KW_TRY_STATUS(os::cut_file(options.out, trace_bytes));
  return ResultFiles(options, std::move(journal), trace_bytes);
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
  return journal_.append(commit.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace kw::front
