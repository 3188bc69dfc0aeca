// The forms are tried from the longest to the shortest; the first that fits is taken.
#include "kernelwright/solve/status_line.h"

#include <chrono>
#include <limits>
#include <vector>

#include "base/text.h"
#include "kernelwright/eval/card.h"
#include "kernelwright/progress.h"

namespace kw::front {
namespace {

std::string left_text(const Progress& p) {
  return duration_text(std::chrono::ceil<std::chrono::seconds>(
      std::chrono::duration<double>(p.seconds_left.value_or(0))));
}

// Behind what says how many attempts there were.
void add_results(std::vector<std::string>& parts, const Progress& p, const std::string& best) {
  if (p.best) parts.push_back(best);
  if (p.counts.usage.tokens() > 0)
    parts.push_back(short_count(p.counts.usage.tokens()) + " tokens");
  if (p.seconds_left) parts.push_back(left_text(p) + " left");
}

std::string whole(const Progress& p, bool with_name) {
  std::vector<std::string> parts;
  if (p.problems > 1) parts.push_back(fmt::format("{}/{} problems", p.ended, p.problems));
  parts.push_back(fmt::format("{}/{} attempts, {} extracted, {} compiled, {} correct",
                              p.counts.attempts, p.most_attempts, p.counts.extracted,
                              p.counts.compiled, p.counts.correct));
  std::string best = p.best ? "best " + speedup_text(*p.best) : "";
  if (with_name && p.problems > 1) best += fmt::format(" ({})", printable(p.best_of, 60));
  add_results(parts, p, best);
  return join(parts, ", ");
}

std::string shorter(const Progress& p, bool with_stages) {
  std::vector<std::string> parts;
  if (p.problems > 1) parts.push_back(fmt::format("{}/{}", p.ended, p.problems));
  parts.push_back(fmt::format("{}/{}", p.counts.attempts, p.most_attempts));
  if (with_stages)
    parts.push_back(fmt::format("{} code, {} built", p.counts.extracted, p.counts.compiled));
  parts.push_back(fmt::format("{} correct", p.counts.correct));
  add_results(parts, p, p.best ? speedup_text(*p.best) : "");
  return join(parts, ", ");
}

std::string shortest(const Progress& p) {
  std::string out = fmt::format("{}/{}", p.counts.attempts, p.most_attempts);
  if (p.best)
    out += fmt::format(" {:.3g}x ({:.3g}-{:.3g})", p.best->median, p.best->low, p.best->high);
  if (p.counts.usage.tokens() > 0) out += " " + short_count(p.counts.usage.tokens());
  if (p.seconds_left) out += " " + left_text(p);
  return out;
}

}  // namespace

std::string status_line(const Progress& progress, std::size_t columns) {
  for (const std::string& form : {whole(progress, true), whole(progress, false),
                                  shorter(progress, true), shorter(progress, false)}) {
    if (form.size() <= columns) return form;
  }
  const std::string out = shortest(progress);
  return out.size() <= columns ? out : printable(out, columns - 3);  // adds "..."
}

}  // namespace kw::front
