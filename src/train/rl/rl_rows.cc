#include "train/rl/rl_rows.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "os/file.h"
#include "train/run/run_folder.h"

namespace kw::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEpisodes = "episodes.jsonl";
constexpr const char* kEvaluations = "evaluations.jsonl";

std::string line_of(const Json& row) {
  return row.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

constexpr const char* kEpisodesBytes = "episodes_bytes";

// The length of episodes.jsonl when the last row of a file was written; 0 before the first one,
// nullopt where the rows do not say it.
Result<std::optional<std::uint64_t>> bytes_of_episodes(const fs::path& rows) {
  KW_TRY(const std::string text, os::read_file(rows, std::size_t{1} << 32U));
  std::optional<std::uint64_t> out = 0;
  for (const std::string& line : split(text, '\n')) {
    const auto parsed = parse_json(line);
    if (!parsed || !parsed->is_object()) continue;
    out.reset();
    if (parsed->contains(kEpisodesBytes)) out = parsed->value(kEpisodesBytes, std::uint64_t{0});
  }
  return out;
}

// -1 where the file has no row.
Result<std::int64_t> last_step_of(const fs::path& file) {
  KW_TRY(const std::string text, os::read_file(file, std::size_t{1} << 32U));
  std::int64_t out = -1;
  for (const std::string& line : split(text, '\n')) {
    const auto parsed = parse_json(line);
    if (parsed && parsed->is_object()) out = parsed->value("step", out);
  }
  return out;
}

}  // namespace

Result<RlRows> RlRows::open(fs::path folder, bool resume, std::int64_t step) {
  RlRows out(std::move(folder));
  KW_TRY_STATUS(keep_steps(out.folder_ / "samples.jsonl", step));
  const fs::path evaluations = out.folder_ / kEvaluations;
  KW_TRY_STATUS(keep_steps(evaluations, resume ? step : -1));
  KW_TRY(out.evaluated_, last_step_of(evaluations));
  if (resume) KW_TRY_STATUS(out.cut_episodes());
  out.episodes_.open(out.folder_ / kEpisodes, resume ? std::ios::app : std::ios::trunc);
  return out;
}

Status RlRows::cut_episodes() const {
  const fs::path path = folder_ / kEpisodes;
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  KW_TRY(std::optional<std::uint64_t> kept, bytes_of_episodes(folder_ / "metrics.jsonl"));
  // An evaluation that is not made again keeps its episodes.
  const fs::path evaluations = folder_ / kEvaluations;
  if (kept && fs::exists(evaluations, error)) {
    KW_TRY(const std::optional<std::uint64_t> evaluated, bytes_of_episodes(evaluations));
    kept = std::max(*kept, evaluated.value_or(0));
  }
  if (kept && *kept < fs::file_size(path, error)) fs::resize_file(path, *kept, error);
  if (error)
    return fail(ErrorCode::kPermissionDenied, "cannot cut {}: {}", path.string(), error.message());
  return {};
}

Status RlRows::append(const char* name, const std::vector<Json>& rows) const {
  std::ofstream file(folder_ / name, std::ios::app);
  for (const Json& row : rows) file << line_of(row);
  file.flush();
  if (!file)
    return fail(ErrorCode::kResourceExhausted, "cannot write to {}: is the disk full?",
                folder_.string());
  return {};
}

Status RlRows::add_episodes(const std::vector<environment::Record>& records) {
  for (const environment::Record& record : records)
    episodes_ << line_of(environment::to_json(record));
  episodes_.flush();
  if (!episodes_)
    return fail(ErrorCode::kResourceExhausted, "cannot write {}: is the disk full?",
                (folder_ / kEpisodes).string());
  return {};
}

std::uint64_t RlRows::episode_bytes() const {
  std::error_code unknown;
  const std::uintmax_t bytes = fs::file_size(folder_ / kEpisodes, unknown);
  return unknown ? 0 : bytes;
}

Status RlRows::add_evaluation(Json row) {
  row[kEpisodesBytes] = episode_bytes();
  evaluated_ = row.value("step", evaluated_);
  return append(kEvaluations, {std::move(row)});
}

Status RlRows::add_step(Json line, const std::vector<Json>& samples) {
  line[kEpisodesBytes] = episode_bytes();
  // The step's own line comes last: a resume cuts by it.
  KW_TRY_STATUS(append("samples.jsonl", samples));
  return append("metrics.jsonl", {std::move(line)});
}

}  // namespace kw::train
