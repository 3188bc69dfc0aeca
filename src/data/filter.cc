#include "data/filter.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "data/binomial.h"
#include "data/strata.h"
#include "data/task_group.h"
#include "os/journal.h"

namespace kw::data {
namespace fs = std::filesystem;
namespace {

constexpr int kLogSchema = 1;

Json header_of(const FilterSettings& settings) {
  return {{"schema", kLogSchema},
          {"gym_version", gym::kGymVersion},
          {"eval", gym::to_json(settings.eval)}};
}

Json verdict_json(const Finding& finding, const FilterSettings& settings) {
  Json out = {{"outcome", finding.outcome}, {"speedup", Json()}};
  if (finding.speedup)
    out["speedup"] = {{"median", finding.speedup->median},
                      {"low", finding.speedup->low},
                      {"high", finding.speedup->high}};
  out["reason"] = finding.reason;
  out["evidence"] = finding.evidence;
  out["gym_version"] = gym::kGymVersion;
  out["target"] = settings.eval.target;
  return out;
}

// A finding as the log has it, in little memory.
struct Stored {
  bool passed = false;
  std::string verdict, question;  // JSON
};

Result<std::pair<std::string, Stored>> stored_of(const Json& line) {
  KW_TRY(ObjectReader reader, ObjectReader::make(line, ""));
  std::pair<std::string, Stored> out;
  KW_TRY(out.first, reader.string("id"));
  KW_TRY(out.second.passed, reader.boolean("passed"));
  KW_TRY(const Json* verdict, reader.get("verdict"));
  out.second.verdict = verdict->dump();
  if (const Json* question = reader.find("question")) out.second.question = question->dump();
  return out;
}

class FilterRun {
 public:
  FilterRun(const fs::path& in, OutputFile& out, OutputFile* rejected,
            const FilterSettings& settings, search::Evaluator& evaluator,
            const FilterEvents& events, std::stop_token stop)
      : in_(in),
        out_(out),
        rejected_(rejected),
        settings_(settings),
        evaluator_(evaluator),
        events_(events),
        choice_(settings.per_cell, settings.seed),
        group_(settings.jobs, std::move(stop)) {}

  Result<FilterReport> run(const fs::path& log) {
    KW_TRY_STATUS(open(log));
    KW_TRY_STATUS(choose());
    KW_TRY_STATUS(judge_all());
    if (report_.failed > 0 && !settings_.skip_failed)
      return fail(ErrorCode::kUnavailable,
                  "{} samples could not be judged, the first because of: {}; the findings of the "
                  "others are in {}: the same command with --resume goes on",
                  report_.failed, first_failure_, log.string());
    if (settings_.per_cell > 0) KW_TRY_STATUS(find_failing_cells());
    KW_TRY_STATUS(write());
    return std::move(report_);
  }

 private:
  bool to_judge(const Sample& sample) const {
    if (!sample.answered() || !sample.problem) return false;
    return sample.pending || !sampled(sample) || chosen_.contains(choice_.key(sample.id));
  }

  // Left to the choice of its cells.
  bool sampled(const Sample& sample) const {
    return settings_.per_cell > 0 && !sample.pending && sample.origin.contains("generator");
  }

  Status open(const fs::path& log) {
    bool first = true;
    const Json header = header_of(settings_);
    auto journal = os::Journal::open(log, [&](const std::string& text) -> Status {
      KW_TRY(Json line, parse_json(text));
      if (std::exchange(first, false)) {
        if (line == header) return {};
        return fail(ErrorCode::kInvalidArgument,
                    "written with other settings or by another version of the gym; give another "
                    "log, or take this one away");
      }
      KW_TRY(auto entry, stored_of(line));
      found_.insert_or_assign(std::move(entry.first), std::move(entry.second));
      return {};
    });
    if (!journal) return tl::unexpected(std::move(journal).error());
    journal_.emplace(std::move(*journal));
    if (first) KW_TRY_STATUS(journal_->append(header.dump()));
    return {};
  }

  Status choose() {
    std::uint64_t needed = 0;
    if (settings_.per_cell > 0) {
      KW_TRY_STATUS(for_each_sample(in_, [this](const Sample& sample, std::string_view) {
        if (sampled(sample) && sample.answered() && sample.problem) choice_.add(sample);
        return Status();
      }));
      chosen_ = choice_.chosen();
    }
    std::unordered_set<std::string> ids;
    std::uint64_t passed = 0;
    KW_TRY_STATUS(for_each_sample(in_, [&](const Sample& sample, std::string_view) {
      ++report_.rows;
      if (!to_judge(sample) || !ids.insert(sample.id).second) return Status();
      auto found = found_.find(sample.id);
      if (found == found_.end()) {
        ++needed;
      } else {
        ++report_.earlier;
        passed += found->second.passed ? 1U : 0U;
      }
      return Status();
    }));
    if (events_.begin) events_.begin(needed, report_.earlier, passed);
    return {};
  }

  Status judge_all() {
    std::unordered_set<std::string> handed_out;
    return group_.finish(for_each_sample(in_, [&](Sample sample, std::string_view) -> Status {
      if (group_.ending()) return fail(ErrorCode::kCancelled, "interrupted");
      if (!to_judge(sample) || known(sample.id) || !handed_out.insert(sample.id).second) return {};
      group_.post([this, sample = std::move(sample)] { one(sample); });
      return {};
    }));
  }

  bool known(const std::string& id) {
    std::lock_guard lock(mutex_);
    return found_.contains(id);
  }

  // On a worker's thread.
  void one(const Sample& sample) {
    double pause = settings_.retry_seconds;
    for (int number = 1; !group_.ending(); ++number) {
      auto finding =
          judge_sample(sample, settings_.eval, settings_.asking, evaluator_, group_.token());
      if (finding) return store(sample.id, *finding);
      const ErrorCode code = finding.error().code();
      if (code == ErrorCode::kCancelled) return;
      if (code == ErrorCode::kIsolationTooWeak) return group_.end(std::move(finding).error());
      const bool again = number < settings_.tries && may_retry(code);
      {
        std::lock_guard lock(mutex_);
        if (again) {
          ++report_.retries;
        } else if (report_.failed++ == 0) {
          first_failure_ = finding.error().message();
        }
        if (events_.failed) events_.failed(sample.id, finding.error(), again);
      }
      if (!again) return;
      search::pause(std::chrono::duration<double>(pause), group_.token());
      pause *= 2;
    }
  }

  void store(const std::string& id, const Finding& finding) {
    Json line = {
        {"id", id}, {"passed", finding.passed}, {"verdict", verdict_json(finding, settings_)}};
    if (!finding.question.empty()) {
      line["question"] = Json::array();
      for (const prompt::Message& message : finding.question)
        line["question"].push_back({{"role", message.role}, {"content", message.content}});
    }
    std::lock_guard lock(mutex_);
    const Status written =
        journal_->append(line.dump(-1, ' ', false, Json::error_handler_t::replace));
    if (!written) return group_.end(written.error());
    auto entry = stored_of(line);
    if (entry) found_.insert_or_assign(id, std::move(entry->second));
    if (events_.judged) events_.judged(finding.passed);
  }

  Status find_failing_cells() {
    CellFindings findings;
    std::map<std::string, std::uint64_t> sizes;
    std::unordered_set<std::string> seen;
    KW_TRY_STATUS(for_each_sample(in_, [&](const Sample& sample, std::string_view) {
      if (!sampled(sample)) return Status();
      for (const std::string& cell : cells_of(sample)) ++sizes[cell];
      auto found = found_.find(sample.id);
      if (found != found_.end() && to_judge(sample) && seen.insert(sample.id).second) {
        findings.add(sample, found->second.passed);
        ++report_.sampled;
        if (!found->second.passed) ++report_.sampled_failures;
      }
      return Status();
    }));
    report_.failing_cells = findings.failing();
    report_.cells = sizes.size();
    for (const auto& [cell, size] : sizes) {
      if (size < static_cast<std::uint64_t>(settings_.per_cell)) ++report_.small_cells;
    }
    return {};
  }

  bool in_failing_cell(const Sample& sample) const {
    const auto cells = cells_of(sample);
    return std::any_of(cells.begin(), cells.end(), [this](const std::string& cell) {
      return report_.failing_cells.contains(cell);
    });
  }

  Status write() {
    std::unordered_set<std::string> counted;
    return for_each_sample(in_, [&](Sample sample, std::string_view line) -> Status {
      auto found = to_judge(sample) ? found_.find(sample.id) : found_.end();
      const bool judged = found != found_.end();
      const std::string id = sample.id;
      if (judged && counted.insert(id).second) KW_TRY_STATUS(count(found->second));
      if (judged && !found->second.passed) return reject(id, found->second.verdict);
      if (sampled(sample) && in_failing_cell(sample)) {
        ++report_.dropped;
        return reject(id, R"({"outcome":"dropped","reason":"its cell fails"})");
      }
      if (!judged && to_judge(sample)) return reject(id, R"({"outcome":"failed","reason":""})");
      ++report_.kept;
      if (!judged) {
        ++report_.not_judged;
        return out_.append_line(line);
      }
      if (sampled(sample)) ++report_.sampled_left;
      KW_TRY(sample.verdict, parse_json(found->second.verdict));
      if (sample.pending) KW_TRY_STATUS(ask(sample, found->second.question));
      return out_.append_line(to_line(sample));
    });
  }

  Status count(const Stored& stored) {
    KW_TRY(Json verdict, parse_json(stored.verdict));
    ++report_.outcomes[verdict["outcome"].get<std::string>()];
    return {};
  }

  static Status ask(Sample& sample, const std::string& question) {
    KW_TRY(Json list, parse_json(question));
    std::vector<prompt::Message> messages;
    for (const Json& message : list)
      messages.push_back(
          {message["role"].get<std::string>(), message["content"].get<std::string>()});
    messages.push_back(std::move(sample.messages.back()));
    sample.messages = std::move(messages);
    sample.pending.reset();
    return {};
  }

  Status reject(const std::string& id, const std::string& verdict) {
    if (rejected_ == nullptr) return {};
    KW_TRY(Json found, parse_json(verdict));
    const Json line = {{"id", id}, {"outcome", found["outcome"]}, {"reason", found["reason"]}};
    return rejected_->append_line(line.dump());
  }

  const fs::path in_;
  OutputFile& out_;
  OutputFile* rejected_;
  const FilterSettings& settings_;
  search::Evaluator& evaluator_;
  const FilterEvents& events_;
  StratifiedChoice choice_;
  std::unordered_set<std::uint64_t> chosen_;

  std::mutex mutex_;  // of what is below, while work is under way
  std::optional<os::Journal> journal_;
  std::unordered_map<std::string, Stored> found_;  // by id
  std::string first_failure_;
  FilterReport report_;
  TaskGroup group_;  // last: its threads use the others
};

}  // namespace

Json to_json(const FilterReport& report) {
  Json out = {
      {"rows", report.rows},        {"kept", report.kept},     {"not_judged", report.not_judged},
      {"earlier", report.earlier},  {"failed", report.failed}, {"retries", report.retries},
      {"outcomes", report.outcomes}};
  if (report.cells > 0) {
    out["sampling"] = {
        {"cells", report.cells},
        {"small_cells", report.small_cells},
        {"judged", report.sampled},
        {"failures", report.sampled_failures},
        {"error_rate_upper", clopper_pearson_upper(report.sampled_failures, report.sampled)},
        {"failing_cells", report.failing_cells},
        {"dropped", report.dropped},
        {"judged_of_kept", report.sampled_left},
        {"error_rate_upper_of_kept", clopper_pearson_upper(0, report.sampled_left)}};
  }
  return out;
}

Result<FilterReport> filter_dataset(const fs::path& in, const fs::path& log, OutputFile& out,
                                    OutputFile* rejected, const FilterSettings& settings,
                                    search::Evaluator& evaluator, const FilterEvents& events,
                                    const std::stop_token& stop) {
  return FilterRun(in, out, rejected, settings, evaluator, events, stop).run(log);
}

}  // namespace kw::data
