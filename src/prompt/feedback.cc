// Sentences by outcome.
#include "prompt/feedback.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/text.h"
#include "prompt/chat.h"
#include "prompt/extract.h"
#include "task/gpu_text.h"

namespace kw::prompt {
namespace {

using task::Outcome;
using task::Verdict;

constexpr std::size_t kMaxSourceLines = 6;
constexpr std::size_t kMaxKernels = 6;

std::string headline(const Verdict& verdict) {
  if (task::is_borderline(verdict))
    return "It passes, but its largest error is about as large as what is allowed, so it does not "
           "count as correct.";
  switch (verdict.outcome) {
    case Outcome::kPassed:
      return "It is correct.";
    case Outcome::kNoisy:
      return "It is correct, but no time could be measured honestly.";
    case Outcome::kCompileError:
      return "It does not compile.";
    case Outcome::kWrongShape:
      return "It runs, but an output has the wrong shape.";
    case Outcome::kWrongDtype:
      return "It runs, but an output has the wrong dtype.";
    case Outcome::kWrongValue:
      return "It runs, but its values are wrong.";
    case Outcome::kRuntimeError:
      return "It fails while it runs.";
    case Outcome::kTimeout:
      return "It takes too long and was stopped.";
    case Outcome::kMemoryLimit:
      return "It uses too much memory and was stopped.";
    case Outcome::kOutputLimit:
      return "It writes too much output and was stopped.";
    case Outcome::kViolation:
      return fmt::format("It breaks a rule ({}), and counts as failed whatever its results are.",
                         printable(verdict.violation, 80));
    case Outcome::kQuarantined:
    case Outcome::kUnsupported:
      return "It could not be judged, which is not its fault.";
  }
  return {};
}

// Of the verdict, then of the workloads that did not pass, each message once.
std::string diagnostics_of(const Verdict& verdict) {
  std::vector<std::string> messages;
  std::size_t bytes = 0;
  auto add_all = [&](const std::vector<task::Diagnostic>& diagnostics) {
    for (const task::Diagnostic& diagnostic : diagnostics) {
      std::string message = printable(trim(diagnostic.message),
                                      kMaxFeedbackBytes - std::min(bytes, kMaxFeedbackBytes));
      bool again = std::find(messages.begin(), messages.end(), message) != messages.end();
      if (again || message.empty() || bytes >= kMaxFeedbackBytes) continue;
      bytes += message.size();
      messages.push_back(std::move(message));
    }
  };
  add_all(verdict.diagnostics);
  for (const task::WorkloadVerdict& workload : verdict.workloads)
    if (workload.outcome != Outcome::kPassed || workload.borderline) add_all(workload.diagnostics);
  return join(messages, "\n");
}

// Numbers of lines in "kernel.cpp:12:5: error" and "line 12".
std::vector<std::size_t> named_lines(std::string_view text) {
  std::vector<std::size_t> out;
  for (std::size_t at = 0; at < text.size() && out.size() < kMaxSourceLines;) {
    if (!is_digit(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at, number = 0;
    for (; end < text.size() && is_digit(text[end]) && end - at < 7; ++end)
      number = number * 10 + static_cast<std::size_t>(text[end] - '0');
    bool after_file = at >= 2 && text[at - 1] == ':' && !is_digit(text[at - 2]) &&
                      end < text.size() && (text[end] == ':' || text[end] == '\n');
    bool after_word = at >= 5 && text.substr(at - 5, 5) == "line ";
    bool known = std::find(out.begin(), out.end(), number) != out.end();
    if ((after_file || after_word) && !known) out.push_back(number);
    at = end;
  }
  return out;
}

std::string source_lines(const std::string& code, std::string_view messages) {
  std::vector<std::string> lines = split(code, '\n');
  std::string out;
  for (std::size_t number : named_lines(messages)) {
    if (number == 0 || number > lines.size()) continue;
    // GCC shows the lines itself.
    if (messages.find(fmt::format("{} | ", number)) != std::string_view::npos) continue;
    out += fmt::format("{}: {}\n", number, printable(lines[number - 1], 200));
  }
  return std::string(out.empty() ? out : out.substr(0, out.size() - 1));
}

void add_errors(std::string& out, const Verdict& verdict) {
  std::size_t wrong = 0;
  for (const task::WorkloadVerdict& workload : verdict.workloads)
    wrong += workload.outcome != Outcome::kPassed ? 1 : 0;
  if (verdict.workloads.size() > 1 && wrong > 0)
    out += fmt::format("{} of {} workloads fail.\n", wrong, verdict.workloads.size());
  std::set<std::string> said;
  for (const task::WorkloadVerdict& workload : verdict.workloads) {
    for (const task::OutputError& error : workload.errors) {
      if (error.max_of_budget <= 1 || !said.insert(error.output).second) continue;
      out +=
          fmt::format("Output `{}`: the largest error is {:.3g}, {:.3g} times what is allowed.\n",
                      printable(error.output, 80), error.max_absolute, error.max_of_budget);
    }
  }
}

std::string compared(const task::Speedup& speedup) {
  if (speedup.low > 1) return "it is faster than the reference";
  if (speedup.high < 1) return "it is slower than the reference";
  return "no difference from the reference can be told";
}

void add_times(std::string& out, const Verdict& verdict) {
  if (verdict.times) {
    out +=
        fmt::format("A call takes {}, the reference {}.\n", format_ms(verdict.times->candidate_ms),
                    format_ms(verdict.times->reference_ms));
  }
  if (verdict.speedup) {
    const task::Speedup& s = *verdict.speedup;
    out += fmt::format("Its speedup is {:.3g} (95 % interval {:.3g} to {:.3g}): {}.\n", s.median,
                       s.low, s.high, compared(s));
  }
  if (verdict.coverage) {
    out += fmt::format("Its own kernels do {:.0f} % of the device's work.\n",
                       100 * verdict.coverage->time);
  }
}

// Of the first workload that has a profile: what limits its time.
void add_gpu(std::string& out, const Verdict& verdict) {
  for (const task::WorkloadVerdict& workload : verdict.workloads) {
    if (!workload.gpu || !workload.gpu->call || !workload.times) continue;
    const task::GpuFacts& facts = *workload.gpu;
    out += "Its kernels: ";
    std::size_t said = 0;
    for (const task::GpuKernel& kernel : facts.call->kernels) {
      if (said == kMaxKernels) break;
      out += (said++ == 0 ? "" : "; ") + task::kernel_text(kernel);
    }
    const std::size_t more = facts.call->kernels.size() - said;
    out += more > 0 ? fmt::format("; and {} more.\n", more) : ".\n";
    if (facts.roofline) {
      const std::string share = task::roofline_text(*facts.roofline, workload.times->candidate_ms);
      if (!share.empty()) out += fmt::format("It reaches {}.\n", share);
    }
    const std::string memory = task::call_memory_text(facts);
    if (!memory.empty()) out += fmt::format("Memory that a call takes: {}.\n", memory);
    return;
  }
}

}  // namespace

std::string feedback_section(const Attempt& attempt, task::Language language,
                             const std::optional<BestSoFar>& best) {
  std::string out;
  if (attempt.code.empty()) {
    out = fmt::format("The previous answer held no code that could be judged: {}.\n",
                      printable(attempt.why_not, 500));
  } else if (attempt.verdict) {
    out = headline(*attempt.verdict) + "\n";
    add_times(out, *attempt.verdict);
    add_gpu(out, *attempt.verdict);
    add_errors(out, *attempt.verdict);
    std::string messages = diagnostics_of(*attempt.verdict);
    if (!messages.empty()) out += fenced(messages, "");
    std::string lines = source_lines(attempt.code, messages);
    if (!lines.empty()) out += "Lines named there:\n" + fenced(lines, fence_tag(language));
  }
  if (best) {
    out += fmt::format("The best correct attempt so far has a speedup of {:.3g} ({}).\n",
                       best->speedup.median, format_ms(best->candidate_ms));
  }
  return out;
}

std::string next_step(const Attempt& attempt) {
  if (attempt.code.empty()) return "Answer again, with the whole code in one fenced block.";
  if (!attempt.verdict) return "Improve the code.";
  if (task::is_borderline(*attempt.verdict))
    return "Make its results more exact first: find where it rounds or approximates more than the "
           "reference does, and keep the speed.";
  switch (attempt.verdict->outcome) {
    case Outcome::kPassed:
    case Outcome::kNoisy:
    case Outcome::kQuarantined:
    case Outcome::kUnsupported:
      return "Make it faster, and keep it correct. Say first what limits its speed now, then "
             "change that.";
    case Outcome::kTimeout:
    case Outcome::kMemoryLimit:
    case Outcome::kOutputLimit:
      return "Find what makes it exceed the limit, and write it so that it does not.";
    case Outcome::kViolation:
      return "Write it so that it keeps all rules above: compute the result yourself on every "
             "call.";
    default:
      return "Find the cause of this first, and correct it. Speed matters only once it is correct.";
  }
}

}  // namespace kw::prompt
