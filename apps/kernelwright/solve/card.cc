#include "kernelwright/solve/card.h"

#include "base/text.h"
#include "kernelwright/eval/card.h"
#include "kernelwright/solve/counts.h"
#include "kernelwright/solve/files.h"
#include "kernelwright/solve/lines.h"
#include "runlog/stored.h"

namespace kw::front {
namespace fs = std::filesystem;
namespace {

using runlog::Attempt;
using runlog::End;
using runlog::ProblemTree;

std::string usage_text(const text::Usage& usage) {
  std::string out = short_count(usage.tokens());
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

std::string evidence_of(const fs::path& run, const Attempt& attempt) {
  if (!attempt.judged) return "";
  auto verdict = runlog::stored_verdict(run, attempt.judged->verdict);
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

// The form in which commands take it.
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
  const std::string outcomes = kinds_text(outcomes_by_kind(tree));
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
    std::string closest = fmt::format("attempt {}: {}", shown->id, shown->outcome_name());
    if (shown->judged->error && shown->progress() == task::Progress::kRightShape)
      closest += fmt::format(", {:.3g} x the error allowed", *shown->judged->error);
    if (shown->borderline()) closest += ", too near the limit to be taken as correct";
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

}  // namespace kw::front
