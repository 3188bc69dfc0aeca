#include "kernelwright/solve/report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "kernelwright/eval/card.h"
#include "kernelwright/progress.h"
#include "openai/chat.h"
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

// Of the estimate alone: what judging one candidate, and timing one workload, take on two cores
// (docs/performance.md).
constexpr double kCheckSeconds = 1.5, kTimeSeconds = 4;

std::string tokens_text(std::int64_t tokens) {
  if (tokens < 1000) return fmt::format("{}", tokens);
  if (tokens < 1000000) return fmt::format("{:.1f}k", static_cast<double>(tokens) / 1e3);
  return fmt::format("{:.1f}M", static_cast<double>(tokens) / 1e6);
}

std::string duration(double seconds) {
  return duration_text(std::chrono::seconds(static_cast<std::int64_t>(std::ceil(seconds))));
}

// "1 compile_error, 2 no code"
std::string kinds_text(const ByKind& counts) {
  std::vector<std::string> out;
  for (const auto& [name, count] : counts) out.push_back(fmt::format("{} {}", count, name));
  return join(out, ", ");
}

int sum_of(const ByKind& counts) {
  int out = 0;
  for (const auto& [name, count] : counts) out += count;
  return out;
}

std::string outcomes_text(const ProblemTree& tree) {
  ByKind counts;
  for (const Attempt& attempt : tree.attempts) {
    if (!attempt.answered || attempt.correct()) continue;
    if (attempt.judged) {
      ++counts[std::string(task::to_string(attempt.judged->outcome))];
    } else {
      ++counts[attempt.abandoned ? "not judged" : "no code"];
    }
  }
  return kinds_text(counts);
}

std::string usage_text(const runlog::Usage& usage) {
  std::string out = tokens_text(usage.tokens());
  if (usage.cost_usd > 0) out += fmt::format(", {:.4g} USD", usage.cost_usd);
  return out + (usage.estimated ? ", partly estimated" : "");
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

// An estimate, what it is where every measurement takes as long as it may, and the limits that
// flags set. Nothing else bounds it: a judgement may be repeated, and problems are admitted first.
std::string time_text(const search::Settings& s, const PlanFacts& facts, double attempts) {
  // Timing is never parallel; building and checking is.
  const double checking = attempts * kCheckSeconds / s.judges;
  const double timings = static_cast<double>(facts.workloads) * s.samples;
  std::string out = fmt::format(
      "about {} of judging",
      duration(checking + (facts.timed ? timings * std::min(kTimeSeconds, facts.max_seconds) : 0)));
  if (facts.timed)
    out += fmt::format(", {} where each of {} timings takes its --max-seconds",
                       duration(checking + timings * facts.max_seconds), timings);
  if (facts.asks_model) out += ", and the model's own time";
  if (s.seconds > 0 && facts.problems > 1)
    out += fmt::format("; no attempt begins {} after its problem did", duration(s.seconds));
  double bound = s.total_seconds;
  if (s.seconds > 0 && facts.problems == 1)
    bound = bound > 0 ? std::min(bound, s.seconds) : s.seconds;
  if (bound > 0) out += fmt::format("; no attempt begins after {}", duration(bound));
  return out;
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

ByKind failures_by_kind(const ProblemTree& tree) {
  ByKind out;
  for (const runlog::Failed& failed : tree.failures) ++out[runlog::kind_of(failed)];
  return out;
}

ByKind odd_answers(const ProblemTree& tree) {
  using openai::Suspicion;
  ByKind out;
  for (const Attempt& attempt : tree.attempts) {
    if (!attempt.answered) continue;
    const runlog::Answered& answer = *attempt.answered;
    if (answer.finish != runlog::Finish::kStop) ++out[std::string(to_string(answer.finish))];
    for (Suspicion one : {Suspicion::kEmpty, Suspicion::kPromptEcho, Suspicion::kTemplateTokens})
      if (answer.label == to_string(one)) ++out[answer.label];
  }
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
          {"failures_by_kind", failures_by_kind(tree)},
          {"odd_answers", odd_answers(tree)},
          {"wall_s", tree.ended ? tree.ended->wall_s : 0},
          {"tokens", counts.usage.tokens()},
          {"cost_usd", counts.usage.cost_usd},
          {"estimated", counts.usage.estimated},
          {"run", run.string()}};
}

Json solve_row(const fs::path& run, const Unread& unread) {
  ProblemTree tree;
  tree.key = unread.name;
  Json out = solve_row(run, tree);
  out["end"] = "unread";
  out["reason"] = unread.message;
  return out;
}

std::string solve_card(const fs::path& run, const runlog::Run& of, const ProblemTree& tree,
                       const std::string& baseline) {
  const Counts counts = counts_of(tree);
  std::string out = fmt::format("{}  {}\n", printable(tree.key, 200), headline(tree, baseline));
  if (tree.ended) add_row(out, "because", printable(tree.ended->reason, 400));
  std::string attempts = fmt::format("{}: {} extracted, {} compiled, {} correct", counts.attempts,
                                     counts.extracted, counts.compiled, counts.correct);
  const std::string outcomes = outcomes_text(tree);
  if (!outcomes.empty()) attempts += fmt::format(" ({})", outcomes);
  add_row(out, "attempts", attempts);
  add_row(out, "answers", kinds_text(odd_answers(tree)));
  if (const ByKind failures = failures_by_kind(tree); !failures.empty())
    add_row(out, "failures",
            fmt::format("{}, not of candidates: {}", sum_of(failures), kinds_text(failures)));
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
  if (counts.usage.tokens() > 0) add_row(out, "tokens", usage_text(counts.usage));
  add_row(out, "next", next_step(run, of, tree));
  return out + "\n";
}

std::string solve_card(const Unread& unread) {
  std::string out = fmt::format("{}  not read: passed over\n", printable(unread.name, 200));
  add_row(out, "because", printable(unread.message, 400));
  return out + "\n";
}

std::string solve_summary(const fs::path& run, const runlog::Run& of, const std::string& baseline,
                          std::size_t unread) {
  std::size_t correct = 0, faster = 0, open = 0;
  ByKind failures;
  for (const ProblemTree& tree : of.problems) {
    if (tree.best() != nullptr) ++correct;
    if (standing_of(tree) == Standing::kFaster) ++faster;
    if (!tree.ended) ++open;
    for (const auto& [kind, count] : failures_by_kind(tree)) failures[kind] += count;
  }
  std::string out = fmt::format("{} of {} problems have a correct kernel, {} one faster than {}\n",
                                correct, of.problems.size() + unread, faster, baseline);
  if (open > 0) out += fmt::format("{} have not come to their end\n", open);
  if (unread > 0)
    out += fmt::format("{} could not be read and {} passed over\n", unread,
                       unread == 1 ? "was" : "were");
  if (!failures.empty())
    out += fmt::format("failures of ours or the world's, not of candidates: {} ({})\n",
                       sum_of(failures), kinds_text(failures));
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
  add_row(out, "time", time_text(s, facts, attempts));
  if (facts.server_is_here && facts.timed)
    add_row(out, "disturbed",
            "the model's server is on this machine, and goes on while kernels are timed");
  if (facts.asks_model) {
    // About four bytes a token.
    const auto prompt = static_cast<std::int64_t>(facts.prompt_bytes / 4);
    const auto each = prompt + facts.max_tokens;
    std::int64_t tokens = each * static_cast<std::int64_t>(attempts);
    if (s.tokens > 0)
      tokens = std::min(tokens, (s.tokens + each) * static_cast<std::int64_t>(facts.problems));
    std::string text =
        fmt::format("about {} where answers take all their --max-tokens", tokens_text(tokens));
    const double each_cost = static_cast<double>(prompt) * facts.prompt_price +
                             static_cast<double>(facts.max_tokens) * facts.completion_price;
    if (each_cost > 0 && each > 0)
      text += fmt::format(", {:.2g} USD", each_cost / static_cast<double>(each) *
                                              static_cast<double>(tokens) / 1e6);
    if (s.cost_usd > 0) text += fmt::format("; no attempt begins after {:.4g} USD", s.cost_usd);
    if (facts.max_cost > 0)
      text += fmt::format("; no request that may go beyond {:.4g} USD", facts.max_cost);
    if (facts.max_total_tokens > 0)
      text += fmt::format("; no request that may go beyond {}",
                          tokens_text(static_cast<std::int64_t>(facts.max_total_tokens)));
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
