#include "solve_report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "card.h"
#include "progress.h"
#include "task/enum_names.h"

namespace kw::front {
namespace fs = std::filesystem;
namespace {

using runlog::Attempt;
using runlog::End;
using runlog::ProblemTree;

constexpr auto kStandings = task::enum_names<Standing>({{Standing::kNone, "none"},
                                                        {Standing::kCorrect, "correct"},
                                                        {Standing::kSlower, "slower"},
                                                        {Standing::kNotFaster, "not_faster"},
                                                        {Standing::kFaster, "faster"}});

// Of the estimate alone: what judging one candidate takes on two cores (docs/performance.md).
constexpr double kCheckSeconds = 1.5, kTimeSeconds = 4;

std::string tokens_text(std::int64_t tokens) {
  if (tokens < 1000) return fmt::format("{}", tokens);
  if (tokens < 1000000) return fmt::format("{:.1f}k", static_cast<double>(tokens) / 1e3);
  return fmt::format("{:.1f}M", static_cast<double>(tokens) / 1e6);
}

std::string duration(double seconds) {
  return duration_text(std::chrono::seconds(static_cast<std::int64_t>(std::ceil(seconds))));
}

// "no_code 2, compile_error 1"
std::string failures_text(const ProblemTree& tree) {
  std::map<std::string, int> counts;
  for (const Attempt& attempt : tree.attempts) {
    if (!attempt.answered || attempt.correct()) continue;
    if (attempt.judged) {
      ++counts[std::string(task::to_string(attempt.judged->outcome))];
    } else {
      ++counts[attempt.abandoned ? "not judged" : "no code"];
    }
  }
  std::vector<std::string> out;
  for (const auto& [name, count] : counts) out.push_back(fmt::format("{} {}", count, name));
  return join(out, ", ");
}

const Attempt* furthest(const ProblemTree& tree) {
  const Attempt* out = nullptr;
  for (const Attempt& attempt : tree.attempts) {
    if (out == nullptr || runlog::further(attempt, *out)) out = &attempt;
  }
  return out;
}

std::string headline(const ProblemTree& tree, const std::string& baseline) {
  const Attempt* best = tree.best();
  const auto speed = [&] { return speedup_text(*best->judged->speedup); };
  switch (standing_of(tree)) {
    case Standing::kFaster:
      return fmt::format("{} over {}", speed(), baseline);
    case Standing::kNotFaster:
      return fmt::format("no kernel beats {} here: the best correct one is as fast, {}", baseline,
                         speed());
    case Standing::kSlower:
      return fmt::format("no kernel beats {} here: the best correct one is slower, {}", baseline,
                         speed());
    case Standing::kCorrect:
      return "correct, not timed";
    case Standing::kNone:
      break;
  }
  const End end = tree.ended ? tree.ended->end : End::kFailed;
  if (end == End::kFailed) return "not finished: we failed, --resume goes on";
  if (end == End::kQuarantined) return "the problem cannot be judged";
  if (end == End::kUnsupported) return "not supported here";
  return "no correct kernel";
}

void add_row(std::string& out, std::string_view label, const std::string& text) {
  if (!text.empty()) out += fmt::format("  {:<10} {}\n", label, text);
}

std::string evidence_of(const fs::path& run, const Attempt& attempt) {
  if (!attempt.judged) return "";
  auto text = runlog::RunFolder::get(run, attempt.judged->verdict);
  auto value = text ? parse_json(*text) : Result<Json>(tl::unexpected(text.error()));
  auto verdict = value ? task::verdict_from_json(*value, "verdict")
                       : Result<task::Verdict>(tl::unexpected(value.error()));
  return verdict ? verdict->evidence : "";
}

std::string best_source(const fs::path& run, const ProblemTree& tree) {
  std::error_code ignored;
  for (const char* name : {"kernel.cpp", "kernel.py"}) {
    fs::path path = solution_folder(run, tree.key) / name;
    if (fs::exists(path, ignored)) return path.string();
  }
  return (solution_folder(run, tree.key) / "solution.json").string();
}

// As commands take it.
std::string argument_of(const runlog::Run& of, const ProblemTree& tree) {
  const std::string all = of.header.settings.value("problem", tree.name);
  return of.problems.size() == 1 ? all : fmt::format("{}#{}", all, tree.name);
}

std::string next_step(const fs::path& run, const runlog::Run& of, const ProblemTree& tree) {
  const std::string problem = printable(argument_of(of, tree), 300);
  const std::string solution = (solution_folder(run, tree.key) / "solution.json").string();
  const Standing standing = standing_of(tree);
  if (standing == Standing::kFaster)
    return fmt::format("kernelwright eval {} {} --precise", problem, solution);
  if (standing == Standing::kCorrect)
    return fmt::format("kernelwright eval {} {}", problem, solution);
  const End end = tree.ended ? tree.ended->end : End::kFailed;
  if (end == End::kFailed) return fmt::format("kernelwright solve --resume --run {}", run.string());
  if (end == End::kQuarantined || end == End::kUnsupported)
    return fmt::format("kernelwright problems check {}", problem);
  return "more attempts (--samples), or another --method";
}

}  // namespace

std::string_view to_string(Standing standing) {
  return kStandings.name(standing);
}

Standing standing_of(const ProblemTree& tree) {
  const Attempt* best = tree.best();
  if (best == nullptr || !best->judged) return Standing::kNone;
  const auto& speedup = best->judged->speedup;
  if (!speedup) return Standing::kCorrect;
  if (speedup->low > 1) return Standing::kFaster;
  return speedup->high < 1 ? Standing::kSlower : Standing::kNotFaster;
}

Counts counts_of(const ProblemTree& tree) {
  Counts out;
  for (const Attempt& attempt : tree.attempts) {
    using task::Progress;
    if (!attempt.answered) continue;
    ++out.attempts;
    if (attempt.progress() >= Progress::kExtracted) ++out.extracted;
    if (attempt.progress() >= Progress::kCompiled) ++out.compiled;
    if (attempt.progress() == Progress::kCorrect) ++out.correct;
  }
  out.usage = tree.usage();
  return out;
}

fs::path solution_folder(const fs::path& run, const std::string& key) {
  std::string name;
  for (char c : key) {
    const bool plain = is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '_' || c == '-' || c == '.' || c == '#';
    name += plain ? c : '_';
  }
  if (name.empty() || name[0] == '.') name.insert(0, "_");
  return run / "solutions" / name;
}

Json solve_row(const fs::path& run, const ProblemTree& tree) {
  const Counts counts = counts_of(tree);
  Json best = nullptr;
  const Attempt* attempt = tree.best();
  if (attempt != nullptr && attempt->judged && attempt->extracted) {
    Json speedup = nullptr;
    if (const auto& s = attempt->judged->speedup)
      speedup = {{"median", s->median}, {"low", s->low}, {"high", s->high}};
    best = {{"outcome", to_string(standing_of(tree))},
            {"speedup", speedup},
            {"attempt", attempt->id},
            {"source", best_source(run, tree)},
            {"candidate_hash", attempt->extracted->candidate_hash}};
  }
  return {{"problem", tree.key},
          {"best", best},
          {"attempts", counts.attempts},
          {"extracted", counts.extracted},
          {"compiled", counts.compiled},
          {"correct", counts.correct},
          {"end", tree.ended ? Json(runlog::to_string(tree.ended->end)) : Json(nullptr)},
          {"reason", tree.ended ? tree.ended->reason : ""},
          {"failures", tree.failures.size()},
          {"wall_s", tree.ended ? tree.ended->wall_s : 0},
          {"tokens", counts.usage.tokens()},
          {"cost_usd", counts.usage.cost_usd},
          {"run", run.string()}};
}

std::string solve_card(const fs::path& run, const runlog::Run& of, const ProblemTree& tree,
                       const std::string& baseline) {
  const Counts counts = counts_of(tree);
  std::string out = fmt::format("{}  {}\n", printable(tree.key, 200), headline(tree, baseline));
  if (tree.ended) add_row(out, "because", printable(tree.ended->reason, 400));
  std::string attempts = fmt::format("{}: {} extracted, {} compiled, {} correct", counts.attempts,
                                     counts.extracted, counts.compiled, counts.correct);
  const std::string failures = failures_text(tree);
  if (!failures.empty()) attempts += fmt::format(" ({})", failures);
  add_row(out, "attempts", attempts);
  const Attempt* best = tree.best();
  const Attempt* shown = best != nullptr ? best : furthest(tree);
  if (best != nullptr) {
    add_row(out, "kernel", best_source(run, tree));
    add_row(out, "evidence", evidence_of(run, *best));
  } else if (shown != nullptr && shown->judged) {
    std::string closest =
        fmt::format("attempt {}: {}", shown->id, task::to_string(shown->judged->outcome));
    if (shown->judged->error && shown->progress() == task::Progress::kRightShape)
      closest += fmt::format(", {:.3g} x the error allowed", *shown->judged->error);
    add_row(out, "closest", closest);
  }
  if (counts.usage.tokens() > 0)
    add_row(
        out, "tokens",
        tokens_text(counts.usage.tokens()) +
            (counts.usage.cost_usd > 0 ? fmt::format(", {:.4g} USD", counts.usage.cost_usd) : ""));
  add_row(out, "next", next_step(run, of, tree));
  return out + "\n";
}

std::string solve_summary(const fs::path& run, const runlog::Run& of, const std::string& baseline) {
  std::size_t correct = 0, faster = 0, failed = 0;
  for (const ProblemTree& tree : of.problems) {
    if (tree.best() != nullptr) ++correct;
    if (standing_of(tree) == Standing::kFaster) ++faster;
    failed += tree.failures.size();
  }
  std::string out = fmt::format("{} of {} problems have a correct kernel, {} one faster than {}\n",
                                correct, of.problems.size(), faster, baseline);
  if (failed > 0)
    out += fmt::format("failures of ours or the world's, not of candidates: {}\n", failed);
  return out + fmt::format("run        {}\n", run.string());
}

std::string plan_text(const search::Settings& s, const PlanFacts& facts, const fs::path& run) {
  const auto problems = static_cast<double>(facts.problems);
  const double attempts = problems * s.samples;
  std::string out =
      fmt::format("plan: {} {}, {} with at most {} {} each, {} in all\n", facts.problems,
                  facts.problems == 1 ? "problem" : "problems", s.method, s.samples,
                  s.samples == 1 ? "attempt" : "attempts", attempts);
  add_row(out, "proposer", printable(facts.proposer, 300));
  // Timing is never parallel; building and checking is.
  const double judging = attempts * (kCheckSeconds / s.judges + (facts.timed ? kTimeSeconds : 0));
  std::string time = fmt::format("about {} of judging at most", duration(judging));
  if (facts.asks_model) time += ", and the model's own time";
  double bound = s.total_seconds;
  if (s.seconds > 0) {
    const double by_problem = s.seconds * std::ceil(problems / s.jobs);
    bound = bound > 0 ? std::min(bound, by_problem) : by_problem;
  }
  if (bound > 0) time += fmt::format("; no attempt begins after {}", duration(bound));
  add_row(out, "time", time);
  if (facts.asks_model) {
    // About four bytes a token.
    const auto prompt = static_cast<std::int64_t>(facts.prompt_bytes / 4);
    const auto each = prompt + facts.max_tokens;
    std::int64_t tokens = each * static_cast<std::int64_t>(attempts);
    if (s.tokens > 0)
      tokens = std::min(tokens, (s.tokens + each) * static_cast<std::int64_t>(facts.problems));
    std::string text = fmt::format("at most about {}", tokens_text(tokens));
    const double each_cost = static_cast<double>(prompt) * facts.prompt_price +
                             static_cast<double>(facts.max_tokens) * facts.completion_price;
    if (each_cost > 0 && each > 0)
      text += fmt::format(", {:.2g} USD", each_cost / static_cast<double>(each) *
                                              static_cast<double>(tokens) / 1e6);
    if (s.cost_usd > 0) text += fmt::format("; no attempt begins after {:.4g} USD", s.cost_usd);
    add_row(out, "tokens", text);
  }
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
