#include "search/recorded.h"

#include "base/error_names.h"
#include "base/text.h"
#include "text/jsonl.h"
#include "text/text_file.h"

namespace kw::search {
namespace fs = std::filesystem;
namespace {

Status read_usage(ObjectReader& line, text::Usage& out) {
  const Json* value = line.find("usage");
  if (value == nullptr) return {};
  KW_TRY(ObjectReader usage, ObjectReader::make(*value, "usage"));
  KW_TRY(out.prompt_tokens, usage.integer_or("prompt_tokens", 0));
  KW_TRY(out.completion_tokens, usage.integer_or("completion_tokens", 0));
  KW_TRY(out.cost_usd, usage.number_or("cost_usd", 0));
  KW_TRY(out.estimated, usage.boolean_or("estimated", false));
  if (out.prompt_tokens < 0 || out.completion_tokens < 0 || !(out.cost_usd >= 0))
    return fail(ErrorCode::kInvalidArgument, "usage: negative");
  return usage.no_other_keys();
}

Result<NoAnswer> read_error(const Json& value) {
  KW_TRY(ObjectReader error, ObjectReader::make(value, "errors"));
  KW_TRY(std::string name, error.string("code"));
  KW_TRY(std::string message, error.string("message"));
  const auto code = error_code_from_string(name);
  if (!code)
    return fail(ErrorCode::kInvalidArgument, "errors.code: unknown \"{}\"", printable(name, 40));
  FailedTry failed{Error(*code, message), "", {}};
  KW_TRY(failed.kind, error.string_or("kind", ""));
  KW_TRY_STATUS(read_usage(error, failed.usage));
  NoAnswer out;
  KW_TRY(out.again, error.boolean_or("again", may_retry(*code)));
  KW_TRY_STATUS(error.no_other_keys());
  out.failed.push_back(std::move(failed));
  return out;
}

Result<std::vector<NoAnswer>> read_errors(ObjectReader& line) {
  std::vector<NoAnswer> out;
  const Json* value = line.find("errors");
  if (value == nullptr) return out;
  if (!value->is_array()) return fail(ErrorCode::kInvalidArgument, "errors: expected an array");
  for (const Json& entry : *value) {
    KW_TRY(NoAnswer one, read_error(entry));
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<RecordedProposer>> RecordedProposer::load(const fs::path& path) {
  std::unique_ptr<RecordedProposer> out(new RecordedProposer(path));
  std::error_code error;
  KW_TRY_STATUS(fs::is_directory(path, error) ? out->read_run() : out->read_lines());
  return out;
}

Status RecordedProposer::read_lines() {
  KW_TRY(std::string text, text::read_text(path_, text::kMaxDataFile));
  return text::for_each_json_line(text, path_.string(),
                                  [this](const Json& line) { return add(line); });
}

Status RecordedProposer::add(const Json& value) {
  KW_TRY(ObjectReader line, ObjectReader::make(value, ""));
  KW_TRY(std::string problem, line.string("problem"));
  KW_TRY(std::int64_t attempt, line.integer("attempt"));
  if (attempt < 0 || attempt > 1000000)
    return fail(ErrorCode::kInvalidArgument, "attempt: {} is out of range", attempt);
  Answer answer;
  Proposal& p = answer.proposal;
  KW_TRY(p.answer, line.string("answer"));
  KW_TRY(p.reasoning, line.string_or("reasoning", ""));
  KW_TRY(p.by, line.string_or("by", "recorded"));
  KW_TRY(p.label, line.string_or("label", ""));
  KW_TRY(p.suspicion, line.string_or("suspicion", ""));
  KW_TRY(std::string finish, line.string_or("finish", "stop"));
  auto known = text::finish_from_string(finish);
  if (!known)
    return fail(ErrorCode::kInvalidArgument, "finish: unknown \"{}\"", printable(finish, 40));
  p.finish = *known;
  KW_TRY_STATUS(read_usage(line, p.usage));
  KW_TRY(answer.errors, read_errors(line));
  KW_TRY_STATUS(line.no_other_keys());
  const Key key(problem, static_cast<int>(attempt));
  if (!answers_.emplace(key, std::move(answer)).second)
    return fail(ErrorCode::kInvalidArgument, "attempt {} of {} is there already", attempt,
                printable(problem, 100));
  return {};
}

Status RecordedProposer::read_run() {
  KW_TRY(runlog::Run run, runlog::RunFolder::read(path_));
  for (const runlog::ProblemTree& tree : run.problems) {
    for (const runlog::Attempt& attempt : tree.attempts) {
      if (!attempt.answered) continue;
      const runlog::Answered& a = *attempt.answered;
      text::Usage usage = a.usage;
      for (const runlog::Failed& failed : tree.failures) {
        if (failed.attempt == attempt.id) usage += failed.usage;
      }
      Answer answer{{}, a.answer, a.reasoning, {}};
      answer.proposal.by = a.by;
      answer.proposal.label = a.label;
      answer.proposal.suspicion = a.suspicion;
      answer.proposal.finish = a.finish;
      answer.proposal.usage = usage;
      answers_.emplace(Key(tree.key, attempt.id), std::move(answer));
    }
  }
  return {};
}

Result<Proposed> RecordedProposer::propose(const ProposalRequest& request, std::stop_token stop) {
  if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled");
  const Key key(request.key, request.attempt);
  auto found = answers_.find(key);
  if (found == answers_.end())
    return Proposed(Exhausted{fmt::format("no answer is recorded for attempt {}", key.second)});
  const Answer& answer = found->second;
  {
    std::lock_guard lock(mutex_);
    std::size_t& given = errors_given_[key];
    if (given < answer.errors.size()) return Proposed(answer.errors[given++]);
  }
  Proposal out = answer.proposal;
  if (!answer.blob.empty()) {
    KW_TRY(out.answer, runlog::RunFolder::get(path_, answer.blob));
  }
  if (!answer.reasoning_blob.empty()) {
    KW_TRY(out.reasoning, runlog::RunFolder::get(path_, answer.reasoning_blob));
  }
  return Proposed(std::move(out));
}

}  // namespace kw::search
