#include "gym_environment/judge_once.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "gym/evaluation/bench.h"
#include "gym/version.h"
#include "os/file.h"

namespace kw::gym_environment {
namespace {

std::string key_of(const gym::EvalRequest& request) {
  Sha256 hash;
  hash.update(std::to_string(gym::kGymVersion));  // a file may have verdicts of an older one
  hash.update(request.problem.hash);
  hash.update(task::candidate_hash(request.candidate));
  hash.update(canonical_json(gym::verdict_options(request.options)));
  return hash.finish();
}

// Whether another judgement could tell more. A correct kernel whose measurement came to no end has
// no speedup.
bool is_final(const task::Verdict& verdict, bool timed) {
  if (verdict.outcome == task::Outcome::kNoisy) return false;
  return !timed || verdict.outcome != task::Outcome::kPassed || verdict.speedup.has_value();
}

bool has_timed_workload(const gym::EvalRequest& request) {
  const task::Problem& problem = request.problem;
  return std::any_of(problem.workloads.begin(), problem.workloads.end(), [&](const auto& workload) {
    return gym::is_timed(problem, workload, request.options);
  });
}

constexpr std::size_t kMaxVerdicts = std::size_t{1} << 32U;

Result<std::pair<std::string, task::Verdict>> read_row(const std::string& line,
                                                       const std::string& where) {
  KW_TRY(const Json row, parse_json(line));
  KW_TRY(ObjectReader reader, ObjectReader::make(row, where));
  KW_TRY(std::string key, reader.string("key"));
  KW_TRY(const Json* verdict, reader.get("verdict"));
  KW_TRY_STATUS(reader.no_other_keys());
  KW_TRY(task::Verdict read, task::verdict_from_json(*verdict, where + ".verdict"));
  return std::pair(std::move(key), std::move(read));
}

}  // namespace

Status JudgeOnce::keep_in(const std::filesystem::path& file) {
  file_ = file;
  std::error_code unknown;
  if (!std::filesystem::exists(file, unknown)) return {};
  KW_TRY(const std::string text, os::read_file(file, kMaxVerdicts));
  std::filesystem::resize_file(file, text.rfind('\n') + 1, unknown);
  if (unknown)
    return fail(ErrorCode::kPermissionDenied, "cannot cut {}: {}", file.string(),
                unknown.message());
  const std::vector<std::string> lines = split(text, '\n');
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {  // the last one is empty, or was cut
    auto row = read_row(lines[i], "verdict");
    if (!row)
      return tl::unexpected(
          std::move(row).error().with_context(fmt::format("{}, line {}", file.string(), i + 1)));
    auto kept = std::make_shared<Judgement>();
    kept->running = false;
    kept->is_of_file = true;
    kept->verdict = std::move(row->second);
    judgements_[row->first] = std::move(kept);
  }
  return {};
}

std::optional<task::MadeWith> JudgeOnce::tools(task::Target target) {
  std::lock_guard lock(tools_mutex_);
  const auto found = tools_.find(target);
  if (found != tools_.end()) return found->second;
  const auto capabilities = inner_.capabilities(target);
  return tools_[target] = capabilities ? std::optional(capabilities->made_with) : std::nullopt;
}

Result<task::Verdict> JudgeOnce::judge(gym::EvalRequest request, std::stop_token stop) {
  const std::string key = key_of(request);
  const auto here = file_.empty() ? std::nullopt : tools(request.options.target);
  std::shared_ptr<Judgement> mine;
  {
    std::unique_lock lock(mutex_);
    for (;;) {
      const auto found = judgements_.find(key);
      if (found == judgements_.end()) break;
      const std::shared_ptr<Judgement> other = found->second;
      if (other->is_of_file && here && other->verdict.made_with != *here) break;
      if (!other->running) return other->verdict;
      const auto changed = [&] {
        const auto now = judgements_.find(key);
        return now == judgements_.end() || !now->second->running;
      };
      if (!ended_.wait(lock, stop, changed)) return fail(ErrorCode::kCancelled, "cancelled");
    }
    mine = judgements_[key] = std::make_shared<Judgement>();
  }
  const bool timed = has_timed_workload(request);
  auto verdict = inner_.judge(std::move(request), std::move(stop));
  Status written;
  std::lock_guard lock(mutex_);
  const bool is_known = verdict && is_final(*verdict, timed);
  if (is_known || (verdict && ++unmeasured_[key] >= kMeasurements)) {
    mine->verdict = *verdict;
    mine->running = false;
    if (is_known && !file_.empty())
      written =
          os::append_line(file_, Json{{"key", key}, {"verdict", task::to_json(*verdict)}}.dump(
                                     -1, ' ', false, Json::error_handler_t::replace));
  } else {
    judgements_.erase(key);
  }
  ended_.notify_all();
  KW_TRY_STATUS(std::move(written));
  return verdict;
}

}  // namespace kw::gym_environment
