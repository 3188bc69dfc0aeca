#include "search/reading.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "base/json.h"
#include "prompt/extract.h"
#include "prompt/problem_prompt.h"
#include "task/candidate_source.h"

namespace kw::search {
namespace {

using runlog::Finish;
using task::Progress;

// The worst output of the worst workload; none where it is not finite.
std::optional<double> error_of(const task::Verdict& verdict) {
  double worst = 0;
  for (const task::WorkloadVerdict& workload : verdict.workloads) {
    for (const task::OutputError& error : workload.errors) {
      if (!std::isfinite(error.max_of_budget)) return std::nullopt;
      worst = std::max(worst, error.max_of_budget);
    }
  }
  return worst;
}

// The first file has the entry.
Result<task::Candidate> candidate_of(task::Language language, std::vector<task::SourceFile> files) {
  KW_TRY(task::Candidate out,
         task::candidate_from_source(files[0].path, std::move(files[0].content), language));
  if (files.size() == 1) return out;
  std::move(files.begin() + 1, files.end(), std::back_inserter(out.sources));
  out.hash = task::candidate_hash(out);
  return out;
}

}  // namespace

std::string candidate_text(const task::Candidate& candidate) {
  Json files = Json::array();
  for (const task::SourceFile& source : candidate.sources)
    files.push_back({{"path", source.path}, {"content", source.content}});
  const Json out = {{"name", candidate.name},
                    {"author", candidate.author},
                    {"description", candidate.description},
                    {"definition", candidate.definition},
                    {"language", task::to_string(candidate.language)},
                    {"files", files}};
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<task::Candidate> candidate_from_text(const std::string& text) {
  KW_TRY(Json value, parse_json(text));
  KW_TRY(ObjectReader reader, ObjectReader::make(value, "candidate"));
  KW_TRY(std::string language_name, reader.string("language"));
  auto language = task::language_from_string(language_name);
  KW_TRY(const Json* list, reader.get("files"));
  if (!language || !list->is_array() || list->empty())
    return fail(ErrorCode::kInvalidArgument, "candidate: no language or no files");
  std::vector<task::SourceFile> files;
  for (const Json& entry : *list) {
    KW_TRY(ObjectReader file, ObjectReader::make(entry, "candidate.files"));
    task::SourceFile source;
    KW_TRY(source.path, file.string("path"));
    KW_TRY(source.content, file.string("content"));
    files.push_back(std::move(source));
  }
  KW_TRY(task::Candidate out, candidate_of(*language, std::move(files)));
  KW_TRY(out.name, reader.string("name"));
  KW_TRY(out.author, reader.string("author"));
  KW_TRY(out.description, reader.string("description"));
  KW_TRY(out.definition, reader.string("definition"));
  return out;
}

Reading read_answer(const task::Problem& problem, task::Language language,
                    const runlog::Answered& answered, const std::string& text,
                    const std::vector<std::string>& shown) {
  if (answered.finish == Finish::kContext)
    return {std::nullopt, "the prompt left no room for an answer"};
  prompt::ExtractOptions options;
  options.entry = prompt::entry_of(problem, language);
  options.finish = answered.finish == Finish::kLength ? prompt::FinishReason::kLength
                                                      : prompt::FinishReason::kStop;
  options.shown = shown;
  prompt::Extraction extraction = prompt::extract_code(text, language, options);
  if (extraction.outcome != prompt::Extracted::kCode)
    return {std::nullopt, std::move(extraction.why_not)};
  auto candidate = candidate_of(language, std::move(extraction.files));
  if (!candidate) return {std::nullopt, candidate.error().message()};
  candidate->name = fmt::format("attempt_{}", answered.attempt);
  candidate->definition = problem.name;
  candidate->author = answered.by;
  candidate->description = answered.label;
  return {std::move(*candidate), ""};
}

runlog::Judged summary_of(const task::Verdict& verdict) {
  runlog::Judged out;
  out.outcome = verdict.outcome;
  out.violation = verdict.violation;
  out.progress = task::progress_of(verdict.outcome);
  if (out.progress == Progress::kRightShape) out.error = error_of(verdict);
  if (out.progress == Progress::kCorrect) out.speedup = verdict.speedup;
  return out;
}

}  // namespace kw::search
