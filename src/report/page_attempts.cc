// Trees of attempts, settings, and how the numbers are made.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "report/format.h"
#include "report/html.h"
#include "report/page_parts.h"

namespace kw::report {
namespace {

constexpr std::size_t kMaxPageTexts = 6U << 20U;   // code, answers and diagnostics together
constexpr std::size_t kMaxBestTexts = 2U << 20U;   // those of the best attempts, beside the others
constexpr std::size_t kMaxDiagnostic = 4U << 10U;  // of one
constexpr std::size_t kMaxDiagnostics = 8;         // of an attempt
constexpr std::size_t kMaxStrip = 60;              // attempts shown as squares
constexpr std::size_t kMaxAttempts = 400;          // of a problem
constexpr int kMaxDepth = 4;                       // of indentation; a phone is narrow

// What texts the page has room for.
class Budget {
 public:
  bool take(std::size_t bytes, bool is_best) {
    std::size_t& left = is_best ? best_ : others_;
    if (bytes > left) return false;
    left -= bytes;
    return true;
  }

 private:
  std::size_t best_ = kMaxBestTexts, others_ = kMaxPageTexts;
};

struct Node {
  const Attempt* attempt;
  int depth;
};

// Depth first, children in order behind their parent: the last attempt of that id before them. A
// parent that is not there counts as none.
std::vector<Node> in_tree_order(const ProblemRecord& problem) {
  constexpr std::size_t kNone = ~std::size_t{0};
  std::map<std::string, std::size_t> seen;
  std::map<std::size_t, std::vector<std::size_t>> children;
  for (std::size_t i = 0; i < problem.attempts.size(); ++i) {
    auto parent = seen.find(problem.attempts[i].parent);
    children[parent == seen.end() ? kNone : parent->second].push_back(i);
    if (!problem.attempts[i].id.empty()) seen[problem.attempts[i].id] = i;
  }
  std::vector<Node> out;
  std::vector<std::pair<std::size_t, int>> stack;  // attempt and depth
  auto push = [&](std::size_t parent, int depth) {
    auto found = children.find(parent);
    if (found == children.end()) return;
    for (auto child = found->second.rbegin(); child != found->second.rend(); ++child)
      stack.emplace_back(*child, depth);
  };
  push(kNone, 0);
  while (!stack.empty()) {
    const auto [attempt, depth] = stack.back();
    stack.pop_back();
    out.push_back({&problem.attempts[attempt], depth});
    push(attempt, depth + 1);
  }
  return out;
}

std::string strip(const ProblemRecord& problem) {
  std::string out = "<span class=\"strip\" aria-hidden=\"true\">";
  for (std::size_t i = 0; i < std::min(problem.attempts.size(), kMaxStrip); ++i)
    out +=
        fmt::format("<span class=\"s{}\"></span>", static_cast<int>(problem.attempts[i].progress));
  return out + "</span>";
}

std::size_t size_of(const Attempt& attempt) {
  std::size_t out =
      attempt.code.text.size() + attempt.answer.text.size() + attempt.reasoning.text.size();
  for (std::size_t i = 0; i < std::min(attempt.diagnostics.size(), kMaxDiagnostics); ++i)
    out += std::min(attempt.diagnostics[i].message.size(), kMaxDiagnostic);
  return out;
}

std::string texts(const Attempt& attempt) {
  std::string out;
  for (std::size_t i = 0; i < std::min(attempt.diagnostics.size(), kMaxDiagnostics); ++i) {
    const task::Diagnostic& diagnostic = attempt.diagnostics[i];
    out += fmt::format("<p class=\"soft\">{}</p><pre class=\"said\" tabindex=\"0\">{}</pre>\n",
                       bounded(diagnostic.kind, 40), bounded(diagnostic.message, kMaxDiagnostic));
  }
  if (attempt.diagnostics.size() > kMaxDiagnostics)
    out += fmt::format("<p class=\"note\">{} more diagnostics are left out.</p>\n",
                       attempt.diagnostics.size() - kMaxDiagnostics);
  auto block = [&](std::string_view label, const Excerpt& text) {
    if (text.text.empty()) return;
    out += fmt::format("<p class=\"soft\">{}</p><pre tabindex=\"0\"><code>{}</code></pre>\n", label,
                       bounded(text.text, text.text.size(), text.left_out));
  };
  block("code", attempt.code);
  block("answer without code", attempt.answer);
  block("reasoning", attempt.reasoning);
  return out;
}

std::string facts(const Attempt& attempt) {
  std::vector<std::string> out;
  if (!attempt.parent.empty()) out.push_back("from #" + attempt.parent);
  if (!attempt.proposer.empty()) out.push_back(attempt.proposer);
  if (!attempt.language.empty()) out.push_back(attempt.language);
  if (std::int64_t tokens = attempt.spent.tokens(); tokens > 0)
    out.push_back(short_count(tokens) + " tokens");
  if (attempt.spent.seconds > 0) out.push_back(seconds_text(attempt.spent.seconds));
  return bounded(join(out, ", "), 300);
}

std::string attempt_item(const Node& node, bool is_best, Budget& budget) {
  const Attempt& attempt = *node.attempt;
  std::string out =
      fmt::format("<li class=\"d{}{}\">", std::min(node.depth, kMaxDepth), is_best ? " best" : "");
  std::string line = fmt::format("#{} {}", bounded(attempt.id, 40), badge(attempt));
  if (attempt.speedup) line += " " + escape(speedup_text(*attempt.speedup));
  if (is_best) line += " <span class=\"win\">best</span>";
  line += " <span class=\"soft\">" + facts(attempt) + "</span>";
  std::size_t size = size_of(attempt);
  if (size == 0) return out + "<p>" + line + "</p></li>\n";
  bool fits = budget.take(size, is_best);
  return out + "<details><summary>" + line + "</summary>" +
         (fits ? texts(attempt)
               : fmt::format("<p class=\"note\">{} of code and diagnostics are left out: the page "
                             "has its {} already.</p>",
                             format_bytes(size), format_bytes(kMaxPageTexts))) +
         "</details></li>\n";
}

std::string problem_tree(const ProblemRecord& problem, const std::string& anchor, Budget& budget) {
  const Attempt* best = best_attempt(problem);
  std::string out = fmt::format(
      "<details class=\"problem\" "
      "id=\"{}\"><summary><strong>{}</strong>{}<span>{}</span></summary>\n",
      anchor, bounded(problem.name, 120), strip(problem),
      best == nullptr ? fmt::format("<span class=\"soft\">{} attempts, none correct</span>",
                                    problem.attempts.size())
      : best->speedup ? escape(speedup_text(*best->speedup))
                      : std::string("correct, not timed"));
  if (!problem.failure.empty())
    out += fmt::format("<p class=\"note\">{}</p>\n", bounded(problem.failure, 1000));
  if (problem.attempts.empty()) return out + "<p class=\"note\">No attempt.</p></details>\n";
  std::vector<Node> nodes = in_tree_order(problem);
  std::size_t shown = 0, left_out = 0;
  out += "<ol class=\"tree\">\n";
  for (const Node& node : nodes) {
    if (shown < kMaxAttempts || node.attempt == best) {
      out += attempt_item(node, node.attempt == best, budget);
      ++shown;
    } else {
      ++left_out;
    }
  }
  out += "</ol>\n";
  if (left_out > 0)
    out += fmt::format("<p class=\"note\">{} more attempts are left out.</p>\n", left_out);
  return out + "</details>\n";
}

}  // namespace

std::string attempts_section(const Report& report) {
  std::string out =
      "<section id=\"attempts\"><h2>Attempts</h2>\n<p class=\"note\">A square is an attempt, in "
      "order, in the colour of the stage where it ended, as above. Open a problem for the tree of "
      "its attempts, and an attempt for its diagnostics and code.</p>\n";
  Budget budget;
  for (std::size_t r = 0; r < report.runs.size(); ++r) {
    const Run& run = report.runs[r].run;
    out += "<h3>" + bounded(run.name, 80) + "</h3>\n";
    for (std::size_t p = 0; p < std::min(run.problems.size(), kMaxProblems); ++p)
      out += problem_tree(run.problems[p], attempts_anchor(r, p), budget);
    if (run.problems.size() > kMaxProblems)
      out += fmt::format("<p class=\"note\">{} more problems are left out.</p>\n",
                         run.problems.size() - kMaxProblems);
  }
  return out + "</section>\n";
}

std::string settings_section(const Report& report) {
  std::string out = "<section id=\"settings\"><h2>Settings and hardware</h2>\n";
  for (const MeasuredRun& measured : report.runs) {
    const Run& run = measured.run;
    auto or_unknown = [](const std::string& text) {
      return text.empty() ? std::string("not recorded") : bounded(text, 400);
    };
    out += fmt::format(
        "<h3>{}</h3>\n<p>From {} ({}). Hardware: {}. Target: {}. Speedups are over: {}.",
        bounded(run.name, 80), bounded(run.path, 400), bounded(run.kind, 40),
        or_unknown(run.hardware), or_unknown(run.target), or_unknown(run.baseline));
    if (run.wall_seconds > 0) out += " It took " + seconds_text(run.wall_seconds) + ".";
    out += "</p>\n";
    if (!run.settings.empty())
      out += "<details><summary>Settings</summary><pre tabindex=\"0\">" + escape(run.settings) +
             "</pre></details>\n";
  }
  return out + "</section>\n";
}

std::string method_section(const Report& report) {
  return fmt::format(
      "<section id=\"method\"><h2>How the numbers are made</h2>\n"
      "<p>Every share is of all problems asked, also of those without any attempt. A problem "
      "counts "
      "with its fastest correct kernel. fast_p is the share with a speedup over p; \"surely\" "
      "takes "
      "the lower end of the kernel's measured 95 % interval instead of its median. The fastest of "
      "many attempts is also the luckiest: its median is a little too good.</p>\n"
      "<p>pass@k is the unbiased estimate for k samples, where a problem with fewer attempts has "
      "the "
      "missing ones counted as failed; it is given only where attempts do not depend on each "
      "other.</p>\n"
      "<p>Intervals of {:g} % are bootstrap intervals over problems (BCa, {} resamples, seed {}), "
      "or "
      "exact where all problems agree. They do not contain the noise of another run with another "
      "seed. Comparisons pair the problems: McNemar's exact test for shares, a sign-flip test for "
      "speedups; p-values are given alone and with all tests of this page counted in (Holm).</p>\n"
      "</section>\n",
      100 * report.options.confidence, report.options.resamples, report.options.seed);
}

}  // namespace kw::report
