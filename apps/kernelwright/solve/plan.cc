#include "kernelwright/solve/plan.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "kernelwright/progress.h"
#include "kernelwright/solve/lines.h"
#include "search/stop_rules.h"

namespace kw::front {
namespace {

// Of the estimate alone: what judging one candidate, and timing one workload, take on two cores
// (docs/performance.md).
constexpr double kCheckSeconds = 1.5, kTimeSeconds = 4;

std::string duration(double seconds) {
  return duration_text(std::chrono::seconds(static_cast<std::int64_t>(std::ceil(seconds))));
}

// Seconds of judging: as it usually goes, and where every timing takes as long as it may.
struct Judging {
  double usual = 0, most = 0;
  double timings = 0;
};

Judging judging_of(const search::Settings& s, const PlanFacts& facts) {
  // Timing is never parallel; building and checking is.
  const double samples = s.samples;
  const double checking =
      static_cast<double>(facts.workloads.size()) * samples * kCheckSeconds / s.judges;
  Judging out{checking, checking, 0};
  double usual_last = kCheckSeconds, most_last = kCheckSeconds;  // of one attempt at the most
  for (std::size_t workloads : facts.workloads) {
    if (!facts.timed) break;
    const double most = search::timing_seconds(s, facts.max_seconds, workloads, 0);
    const double usual = std::min(kTimeSeconds, most);
    const auto each = static_cast<double>(workloads);
    out.timings += samples * each;
    out.usual += samples * each * usual;
    out.most += samples * each * most;
    usual_last = std::max(usual_last, kCheckSeconds + each * usual);
    most_last = std::max(most_last, kCheckSeconds + each * most);
  }
  // Attempts in flight when the time is over are finished.
  const auto at_most = [&out, usual_last, most_last](double seconds) {
    out.usual = std::min(out.usual, seconds + usual_last);
    out.most = std::min(out.most, seconds + most_last);
  };
  if (s.seconds > 0) {
    const double rounds = std::ceil(static_cast<double>(facts.workloads.size()) / s.jobs);
    at_most(rounds * s.seconds);
  }
  if (s.total_seconds > 0) at_most(s.total_seconds);
  return out;
}

double model_attempts(const search::Settings& s, const PlanFacts& facts) {
  return std::ceil(static_cast<double>(facts.workloads.size()) * s.samples * facts.by_model);
}

std::string model_time_text(const search::Settings& s, const PlanFacts& facts) {
  if (facts.by_model <= 0) return "";
  if (facts.tokens_per_second <= 0)
    return ", and the model's own time: unknown until the first answers, or with "
           "--tokens-per-second";
  const double tokens = model_attempts(s, facts) * static_cast<double>(facts.max_tokens);
  return fmt::format(
      ", and {} of the model at {:.4g} tokens a second where answers take all their "
      "--max-tokens",
      duration(tokens / facts.tokens_per_second), facts.tokens_per_second);
}

// An estimate, what it is where every measurement takes as long as it may, and the limits that
// flags set. Nothing else bounds it: a judgement may be repeated, and problems are admitted first.
std::string time_text(const search::Settings& s, const PlanFacts& facts) {
  const Judging judging = judging_of(s, facts);
  std::string out = fmt::format("about {} of judging", duration(judging.usual));
  if (facts.timed)
    out += fmt::format(", {} where each of {} timings takes as long as it may",
                       duration(judging.most), judging.timings);
  out += model_time_text(s, facts);
  const bool one = facts.workloads.size() == 1;
  if (s.seconds > 0 && !one)
    out += fmt::format("; no attempt begins {} after its problem did", duration(s.seconds));
  double bound = s.total_seconds;
  if (s.seconds > 0 && one) bound = bound > 0 ? std::min(bound, s.seconds) : s.seconds;
  if (bound > 0) out += fmt::format("; no attempt begins after {}", duration(bound));
  return out;
}

std::string tokens_text(const search::Settings& s, const PlanFacts& facts) {
  if (facts.by_model <= 0) return "";
  // About four bytes a token.
  const auto prompt = static_cast<double>(facts.prompt_bytes) / 4;
  const double each = prompt + static_cast<double>(facts.max_tokens);
  double tokens = each * model_attempts(s, facts);
  if (s.tokens > 0)
    tokens = std::min(tokens, (static_cast<double>(s.tokens) + each) *
                                  static_cast<double>(facts.workloads.size()));
  std::string out = fmt::format("about {} where answers take all their --max-tokens",
                                short_count(static_cast<std::int64_t>(tokens)));
  const double each_cost =
      prompt * facts.prompt_price + static_cast<double>(facts.max_tokens) * facts.completion_price;
  if (each_cost > 0) out += fmt::format(", {:.2g} USD", each_cost / each * tokens / 1e6);
  if (s.cost_usd > 0) out += fmt::format("; no attempt begins after {:.4g} USD", s.cost_usd);
  if (facts.max_cost > 0)
    out += fmt::format("; no request that may go beyond {:.4g} USD", facts.max_cost);
  if (facts.max_total_tokens > 0)
    out += fmt::format("; no request that may go beyond {}",
                       short_count(static_cast<std::int64_t>(facts.max_total_tokens)));
  return out;
}

}  // namespace

std::string plan_text(const search::Settings& s, const PlanFacts& facts,
                      const std::filesystem::path& run) {
  const std::size_t problems = facts.workloads.size();
  std::string out = fmt::format("plan: {} {}, {} with at most {} {} each, {} in all\n", problems,
                                problems == 1 ? "problem" : "problems", s.method, s.samples,
                                s.samples == 1 ? "attempt" : "attempts",
                                problems * static_cast<std::size_t>(s.samples));
  add_row(out, "proposer", printable(facts.proposer, 300));
  add_row(out, "time", time_text(s, facts));
  if (facts.server_is_here && facts.timed)
    add_row(out, "disturbed",
            "the model's server is on this machine, and goes on while kernels are timed");
  add_row(out, "tokens", tokens_text(s, facts));
  std::vector<std::string> stops;
  if (s.first_correct) stops.emplace_back("the first correct kernel");
  if (s.target_speedup > 0)
    stops.push_back(
        fmt::format("a speedup of {:.4g} by its interval's lower end", s.target_speedup));
  add_row(out, "stops at", join(stops, ", or "));
  add_row(out, "run", run.string());
  return out;
}

}  // namespace kw::front
