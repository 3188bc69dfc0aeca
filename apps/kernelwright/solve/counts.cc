#include "kernelwright/solve/counts.h"

#include <vector>

#include "base/text.h"
#include "text/enum_names.h"

namespace kw::front {
namespace {

using runlog::Attempt;
using runlog::ProblemTree;

constexpr auto kStandings = text::enum_names<Standing>({{Standing::kNone, "none"},
                                                        {Standing::kCorrect, "correct"},
                                                        {Standing::kSlower, "slower"},
                                                        {Standing::kNotFaster, "not_faster"},
                                                        {Standing::kFaster, "faster"}});

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

Counts& Counts::operator+=(const Counts& other) {
  attempts += other.attempts;
  extracted += other.extracted;
  compiled += other.compiled;
  correct += other.correct;
  finished += other.finished;
  usage += other.usage;
  return *this;
}

Counts counts_of(const ProblemTree& tree) {
  Counts out;
  for (const Attempt& attempt : tree.attempts) {
    using task::Progress;
    if (attempt.finished()) ++out.finished;
    if (!attempt.answered) continue;
    ++out.attempts;
    if (attempt.progress() >= Progress::kExtracted) ++out.extracted;
    if (attempt.progress() >= Progress::kCompiled) ++out.compiled;
    if (attempt.progress() == Progress::kCorrect) ++out.correct;
  }
  out.usage = tree.usage();
  return out;
}

ByKind outcomes_by_kind(const ProblemTree& tree) {
  ByKind out;
  for (const Attempt& attempt : tree.attempts) {
    if (!attempt.answered || attempt.correct()) continue;
    ++out[std::string(attempt.judged ? attempt.outcome_name() : runlog::why_no_verdict(attempt))];
  }
  return out;
}

ByKind failures_by_kind(const ProblemTree& tree) {
  ByKind out;
  for (const runlog::Failed& failed : tree.failures) ++out[runlog::kind_of(failed)];
  return out;
}

ByKind odd_answers(const ProblemTree& tree) {
  ByKind out;
  for (const Attempt& attempt : tree.attempts) {
    if (!attempt.answered) continue;
    const runlog::Answered& answer = *attempt.answered;
    if (answer.finish != text::Finish::kStop) ++out[std::string(to_string(answer.finish))];
    if (!answer.suspicion.empty()) ++out[answer.suspicion];
  }
  return out;
}

int sum_of(const ByKind& counts) {
  int out = 0;
  for (const auto& [name, count] : counts) out += count;
  return out;
}

std::string kinds_text(const ByKind& counts) {
  std::vector<std::string> out;
  for (const auto& [name, count] : counts) out.push_back(fmt::format("{} {}", count, name));
  return join(out, ", ");
}

}  // namespace kw::front
