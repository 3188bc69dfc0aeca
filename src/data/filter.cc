#include "data/filter.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "base/backoff.h"
#include "base/text.h"
#include "data/sample_verdict_log.h"
#include "data/strata.h"
#include "os/pause.h"
#include "os/task_group.h"

namespace kw::data {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kNamedCells = 20;  // in a message
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

class FilterRun {
 public:
  FilterRun(const FilterFiles& files, SampleVerdictLog verdicts, const FilterSettings& settings,
            gym::Judge& judge, const FilterEvents& events, std::stop_token stop)
      : files_(files),
        settings_(settings),
        judge_(judge),
        events_(events),
        choice_(settings.per_cell, settings.seed),
        stop_(std::move(stop)),
        verdicts_(std::move(verdicts)) {}

  Result<FilterReport> run() {
    for (bool first = true;; first = false) {
      KW_TRY_STATUS(choose());
      KW_TRY(const std::uint64_t needed, count_needed(first));
      if (!first && needed == 0) break;
      KW_TRY_STATUS(judge_all());
      if (report_.failed > 0 && !settings_.skip_failed)
        return fail(ErrorCode::kUnavailable,
                    "{} samples could not be judged, the first because of: {}; the findings of the "
                    "others are in {}: the same command with --resume goes on",
                    report_.failed, first_failure_, files_.log.string());
      if (settings_.per_cell == 0) break;
    }
    if (settings_.per_cell > 0) KW_TRY_STATUS(look_at_cells());
    KW_TRY_STATUS(write());
    return std::move(report_);
  }

 private:
  // Left to the choice of its cells.
  bool sampled(const Sample& sample) const {
    return settings_.per_cell > 0 && !sample.pending && sample.origin.contains("generator") &&
           sample.answered() && sample.problem;
  }

  bool to_judge(const Sample& sample) const {
    if (!sample.answered() || !sample.problem) return false;
    return !sampled(sample) || chosen_.contains(choice_.key(sample.id));
  }

  // The verdict of a judged sample, or of one that was left out of the choice because its problem
  // was at fault.
  const StoredSampleVerdict* verdict_of(const Sample& sample) const {
    const StoredSampleVerdict* out = verdicts_.find(sample.id);
    return out != nullptr && (to_judge(sample) || out->fault == Fault::kProblem) ? out : nullptr;
  }

  // Samples whose problem was at fault, or that failed, are replaced by other samples of the same
  // cell.
  Status choose() {
    if (settings_.per_cell == 0) return {};
    choice_ = StratifiedChoice(settings_.per_cell, settings_.seed);
    KW_TRY_STATUS(for_each_sample(files_.in, [this](const Sample& sample, std::string_view) {
      if (!sampled(sample) || given_up_.contains(sample.id)) return Status();
      const StoredSampleVerdict* found = verdicts_.find(sample.id);
      if (found == nullptr || found->fault != Fault::kProblem) choice_.add(sample);
      return Status();
    }));
    chosen_ = choice_.chosen();
    return {};
  }

  Result<std::uint64_t> count_needed(bool first) {
    std::uint64_t needed = 0, judged = 0, passed = 0;
    std::unordered_set<std::string> ids;
    KW_TRY_STATUS(for_each_sample(files_.in, [&](const Sample& sample, std::string_view) {
      if (first) ++report_.rows;
      const StoredSampleVerdict* found = verdict_of(sample);
      if ((found == nullptr && !to_judge(sample)) || given_up_.contains(sample.id) ||
          !ids.insert(sample.id).second)
        return Status();
      needed += found == nullptr ? 1U : 0U;
      judged += found != nullptr ? 1U : 0U;
      passed += found != nullptr && found->passed ? 1U : 0U;
      return Status();
    }));
    if (first) report_.earlier = judged;
    if (events_.begin && (first || needed > 0)) events_.begin(needed, judged, passed);
    return needed;
  }

  Status judge_all() {
    os::TaskGroup group(settings_.jobs, stop_, kInterrupted);
    std::unordered_set<std::string> handed_out;
    return group.finish(for_each_sample(files_.in, [&](Sample sample, std::string_view) -> Status {
      if (group.ending()) return fail(ErrorCode::kCancelled, "interrupted");
      if (!to_judge(sample) || known(sample.id) || !handed_out.insert(sample.id).second) return {};
      group.post([this, &group, sample = std::move(sample)] { one(sample, group); });
      return {};
    }));
  }

  bool known(const std::string& id) {
    std::lock_guard lock(mutex_);
    return verdicts_.find(id) != nullptr || given_up_.contains(id);
  }

  // On a worker's thread.
  void one(const Sample& sample, os::TaskGroup& group) {
    const RetryPolicy retries{.tries = settings_.tries,
                              .first_delay = RetryPolicy::Delay(settings_.retry_seconds),
                              .max_delay = RetryPolicy::Delay(kNoLimit)};
    for (int number = 1; !group.ending(); ++number) {
      auto verdict = judge_sample(sample, settings_.eval, settings_.asking, judge_, group.token());
      if (verdict) return store(sample.id, *verdict, group);
      const ErrorCode code = verdict.error().code();
      if (code == ErrorCode::kCancelled) return;
      if (code == ErrorCode::kIsolationTooWeak) return group.end(std::move(verdict).error());
      const bool again = retries.has_try_after(number) && may_retry(code);
      failed(sample.id, verdict.error(), again);
      if (!again) return;
      os::pause(retries.delay(number), group.token());
    }
  }

  void failed(const std::string& id, const Error& error, bool again) {
    std::lock_guard lock(mutex_);
    if (again) {
      ++report_.retries;
    } else {
      if (report_.failed++ == 0) first_failure_ = error.message();
      given_up_.insert(id);
    }
    if (events_.failed) events_.failed(id, error, again);
  }

  void store(const std::string& id, const SampleVerdict& verdict, os::TaskGroup& group) {
    std::lock_guard lock(mutex_);
    if (Status stored = verdicts_.add(id, verdict); !stored) return group.end(stored.error());
    if (events_.judged) events_.judged(verdict.passed);
  }

  Status look_at_cells() {
    SamplingReport& sampling = report_.sampling;
    CellFindings cells;
    std::unordered_set<std::string> seen;
    std::map<std::string, std::uint64_t> judged;
    KW_TRY_STATUS(for_each_sample(files_.in, [&](const Sample& sample, std::string_view) {
      if (!sampled(sample)) return Status();
      const auto names = cells_of(sample);
      for (const std::string& name : names) judged.try_emplace(name, 0);
      const StoredSampleVerdict* found = verdict_of(sample);
      if (found == nullptr || !seen.insert(sample.id).second) return Status();
      if (found->fault == Fault::kProblem) return note_problem(sample, *found);
      cells.add(sample, found->passed);
      for (const std::string& name : names) ++judged[name];
      ++sampling.judged;
      sampling.failures += found->passed ? 0U : 1U;
      return Status();
    }));
    sampling.cells = judged.size();
    sampling.failing_cells = cells.failing();
    std::erase_if(judged, [this](const auto& cell) {
      return cell.second >= static_cast<std::uint64_t>(settings_.per_cell);
    });
    sampling.small_cells = std::move(judged);
    return settings_.small_cells == SmallCells::kRefused ? refuse_small_cells() : Status();
  }

  // A quarantined problem is quarantined on every machine, so all its samples are dropped.
  Status note_problem(const Sample& sample, const StoredSampleVerdict& found) {
    KW_TRY(const Json verdict, found.verdict_json());
    if (sample.problem && verdict["outcome"] == to_string(task::Outcome::kQuarantined))
      broken_problems_.insert(sample.problem->hash);
    return {};
  }

  Status refuse_small_cells() const {
    const auto& cells = report_.sampling.small_cells;
    if (cells.empty()) return {};
    std::vector<std::string> names;
    for (const auto& [name, judged] : cells) {
      if (names.size() == kNamedCells) {
        names.push_back(fmt::format("and {} more", cells.size() - kNamedCells));
        break;
      }
      names.push_back(fmt::format("{} ({})", printable(name, 150), judged));
    }
    return fail(ErrorCode::kInvalidArgument, "{} cells have fewer than {} that can be judged: {}",
                cells.size(), settings_.per_cell, join(names, ", "));
  }

  Status write() {
    std::unordered_set<std::string> counted;
    return for_each_sample(files_.in, [&](Sample sample, std::string_view line) -> Status {
      const StoredSampleVerdict* found = verdict_of(sample);
      const std::string id = sample.id;
      if (found != nullptr && counted.insert(id).second) KW_TRY_STATUS(count(*found));
      if (found != nullptr && !found->passed) return reject(id, found->verdict);
      if (const char* why = why_dropped(sample, found != nullptr))
        return reject(id, Json{{"outcome", "dropped"}, {"reason", why}}.dump());
      if (found == nullptr && (to_judge(sample) || given_up_.contains(id)))
        return reject(id, R"({"outcome":"failed","reason":""})");
      ++report_.kept;
      if (found == nullptr) {
        ++report_.not_judged;
        return files_.out.append_line(line);
      }
      if (sampled(sample)) ++report_.sampling.judged_of_kept;
      KW_TRY(sample.verdict, found->verdict_json());
      if (sample.pending) KW_TRY_STATUS(ask(sample, found->question));
      return files_.out.append_line(to_line(sample));
    });
  }

  // Why a sample that did not fail is dropped; nullptr to keep it.
  const char* why_dropped(const Sample& sample, bool judged) {
    if (!sampled(sample)) return nullptr;
    SamplingReport& sampling = report_.sampling;
    if (!judged && sample.problem && broken_problems_.contains(sample.problem->hash)) {
      ++sampling.dropped_with_problem;
      return "another sample shows that the problem is broken";
    }
    const auto cells = cells_of(sample);
    const auto any_of = [&cells](const auto& names) {
      return std::any_of(cells.begin(), cells.end(),
                         [&](const std::string& cell) { return names.contains(cell); });
    };
    if (any_of(sampling.failing_cells)) {
      ++sampling.dropped;
      return "its cell fails";
    }
    if (settings_.small_cells == SmallCells::kDropped && any_of(sampling.small_cells)) {
      ++sampling.dropped_as_small;
      return "its cell has too few samples";
    }
    return nullptr;
  }

  Status count(const StoredSampleVerdict& found) {
    KW_TRY(const Json verdict, found.verdict_json());
    const std::string outcome = verdict["outcome"].get<std::string>();
    ++report_.outcomes[outcome];
    if (verdict.contains("cause"))
      ++report_.causes[outcome + "/" + verdict["cause"].get<std::string>()];
    if (found.fault == Fault::kProblem) ++report_.problem_faults;
    return {};
  }

  static Status ask(Sample& sample, const std::string& question) {
    KW_TRY(const Json list, parse_json(question));
    KW_TRY(std::vector<text::ChatMessage> messages,
           prompt::messages_from_json(list, text::OtherKeys::kRefused));
    messages.push_back(std::move(sample.messages.back()));
    sample.messages = std::move(messages);
    sample.pending.reset();
    return {};
  }

  Status reject(const std::string& id, const std::string& verdict) {
    if (files_.rejected == nullptr) return {};
    KW_TRY(const Json found, parse_json(verdict));
    Json line = {{"id", id}, {"outcome", found["outcome"]}, {"reason", found["reason"]}};
    if (found.contains("cause")) line["cause"] = found["cause"];
    return files_.rejected->append_line(line.dump());
  }

  const FilterFiles& files_;
  const FilterSettings& settings_;
  gym::Judge& judge_;
  const FilterEvents& events_;
  StratifiedChoice choice_;
  std::unordered_set<std::uint64_t> chosen_;
  std::unordered_set<std::string> broken_problems_;  // hashes
  const std::stop_token stop_;

  std::mutex mutex_;  // guards the members below while threads run
  SampleVerdictLog verdicts_;
  std::unordered_set<std::string> given_up_;  // ids of what could not be judged
  std::string first_failure_;
  FilterReport report_;
};

}  // namespace

Result<FilterReport> filter_dataset(const FilterFiles& files, const FilterSettings& settings,
                                    gym::Judge& judge, const FilterEvents& events,
                                    const std::stop_token& stop) {
  KW_TRY(SampleVerdictLog verdicts, SampleVerdictLog::open(files.log, settings.eval));
  return FilterRun(files, std::move(verdicts), settings, judge, events, stop).run();
}

}  // namespace kw::data
