// One line of headline, then rows of a label and text; rows without anything to say are left out.
#include "kernelwright/eval/card.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "base/present.h"
#include "base/text.h"
#include "task/gpu_text.h"

namespace kw::front {
namespace {

using task::Outcome;
using task::Verdict;
using task::WorkloadVerdict;

constexpr std::size_t kMaxWorkloadRows = 8;
constexpr std::size_t kMaxMessageLines = 12;
constexpr std::size_t kMaxLineBytes = 400;
constexpr std::size_t kMaxMessageBytes = 2000;

class Paint {
 public:
  explicit Paint(bool colour) : colour_(colour) {}
  std::string bold(std::string_view text) const { return in("1", text); }
  std::string dim(std::string_view text) const { return in("2", text); }
  std::string outcome(Outcome outcome, std::string_view text) const {
    bool fault = task::is_candidates_fault(outcome);
    return in(outcome == Outcome::kPassed ? "1;32" : fault ? "1;31" : "1;33", text);
  }

 private:
  std::string in(std::string_view code, std::string_view text) const {
    return colour_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }
  bool colour_;
};

std::string outcome_text(Outcome outcome, const std::string& violation) {
  std::string name(task::to_string(outcome));
  return violation.empty() ? name : fmt::format("{}: {}", name, printable(violation, 60));
}

std::string headline_of(const Verdict& verdict) {
  const std::string text = outcome_text(verdict.outcome, verdict.violation);
  return task::is_borderline(verdict) ? text + ", borderline: paid as wrong" : text;
}

// Enough of a uuid to find it.
std::string short_id(const std::string& uuid) {
  return printable(uuid.substr(0, 8), 16);
}

std::string share_of_budget(double value) {
  if (!std::isfinite(value)) return "infinitely over the budget";
  return value > 1 ? fmt::format("{:.3g} x the budget", value)
                   : fmt::format("{:.2g} of the budget", value);
}

// The worst output of all workloads.
std::string errors_text(const Verdict& verdict) {
  const task::OutputError* worst = nullptr;
  std::string uuid;
  for (const WorkloadVerdict& workload : verdict.workloads) {
    for (const task::OutputError& error : workload.errors) {
      if (error.checked_calls == 0) continue;  // it failed before there was anything to compare
      // NaN is worst of all.
      if (worst != nullptr &&
          !(std::isnan(error.max_of_budget) || error.max_of_budget > worst->max_of_budget))
        continue;
      worst = &error;
      uuid = workload.uuid;
    }
  }
  if (worst == nullptr) return {};
  std::string where =
      verdict.workloads.size() > 1 ? fmt::format(", workload {}", short_id(uuid)) : "";
  return fmt::format("{}: {}, max abs {:.3g}, max rel {:.3g}{}", printable(worst->output, 60),
                     share_of_budget(worst->max_of_budget), worst->max_absolute,
                     worst->max_relative, where);
}

std::string times_text(const Verdict& verdict) {
  if (!verdict.times) return {};
  std::string baseline = verdict.baseline == "eager"          ? "torch"
                         : verdict.baseline == "compile"      ? "torch.compile"
                         : verdict.baseline == "max-autotune" ? "torch.compile, tuned,"
                                                              : printable(verdict.baseline, 80);
  return fmt::format("{}, {} {} ({} pairs{})", format_ms(verdict.times->candidate_ms), baseline,
                     format_ms(verdict.times->reference_ms),
                     verdict.times->candidate_samples_ms.size(),
                     verdict.clock == task::Clock::kProcessor
                         ? ", processor time, as other programs use the machine"
                         : "");
}

// The card names the weaker context, if workloads had different ones. Empty: none was on a GPU.
std::string gpu_text(const Verdict& verdict) {
  std::string out;
  for (const WorkloadVerdict& workload : verdict.workloads) {
    if (!workload.gpu) continue;
    if (workload.gpu->context != task::GpuContext::kFresh)
      return "a context that other candidates had used";
    out = "a context of its own";
  }
  return out;
}

std::string compat_text(const Verdict& verdict) {
  const task::CompatKernelBench& kernelbench = verdict.kernelbench;
  std::string out = fmt::format("KernelBench {}", !kernelbench.compiled     ? "not compiled"
                                                  : kernelbench.correctness ? "correct"
                                                                            : "incorrect");
  if (kernelbench.runtime_ms >= 0) out += fmt::format(" {}", format_ms(kernelbench.runtime_ms));
  if (!verdict.flashinfer.status.empty())
    out += fmt::format(", FlashInfer-Bench {}", printable(verdict.flashinfer.status, 40));
  return out;
}

std::string cost_text(const task::Cost& cost) {
  std::string out;
  auto add = [&](std::string_view name, double ms) {
    if (ms > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name, format_ms(ms));
  };
  add("compile", cost.compile_ms);
  add("load", cost.load_ms);
  add("prepare", cost.prepare_ms);
  add("check", cost.check_ms);
  add("time", cost.time_ms);
  add("total", cost.total_ms);
  return out;
}

// The label stands on the first line only; lines that do not fit are counted, long ones cut.
void add_row(std::string& out, const Paint& paint, std::string_view label, std::string_view text) {
  if (text.empty()) return;
  std::vector<std::string> lines = split(trim(text), '\n');
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string_view shown = i == 0 ? label : "";
    if (i == kMaxMessageLines && lines.size() > kMaxMessageLines + 1) {
      out += fmt::format("  {:<10} {}\n", "",
                         paint.dim(fmt::format("... {} more lines", lines.size() - i)));
      return;
    }
    std::string line = fmt::format("  {} {}", paint.dim(fmt::format("{:<10}", shown)),
                                   printable(lines[i], kMaxLineBytes));
    out += std::string(line.substr(0, line.find_last_not_of(' ') + 1)) + "\n";
  }
}

// The rows of the first workload that has a profile.
void add_gpu(std::string& out, const Paint& paint, const Verdict& verdict) {
  add_row(out, paint, "gpu", gpu_text(verdict));
  const auto profiled = std::ranges::find_if(
      verdict.workloads,
      [](const WorkloadVerdict& workload) { return workload.gpu && workload.gpu->call; });
  if (profiled == verdict.workloads.end()) return;
  const WorkloadVerdict& workload = *profiled;
  const task::GpuFacts& facts = present(workload.gpu);
  std::string kernels;
  for (const task::GpuKernel& kernel : present(facts.call).kernels)
    kernels += task::kernel_text(kernel) + "\n";
  add_row(out, paint, "kernels", kernels);
  if (facts.roofline && workload.times)
    add_row(out, paint, "roofline",
            task::roofline_text(*facts.roofline, workload.times->candidate_ms));
  add_row(out, paint, "memory", task::call_memory_text(facts));
  if (verdict.coverage && verdict.coverage->time < 1)
    add_row(out, paint, "coverage",
            fmt::format("its own kernels take {:.0f} % of the time", 100 * verdict.coverage->time));
}

// The speedup over the fastest form of the reference, and forms that could not be measured.
void add_rivals(std::string& out, const Paint& paint, const Verdict& verdict) {
  if (verdict.strongest)
    add_row(out, paint, "strongest",
            fmt::format("{} over {}", speedup_text(verdict.strongest->speedup),
                        printable(verdict.strongest->baseline, 80)));
  std::set<std::string> said;
  for (const WorkloadVerdict& workload : verdict.workloads) {
    for (const task::Rival& rival : workload.rivals) {
      if (!rival.failure.empty() && said.insert(rival.baseline).second)
        add_row(out, paint, "rival",
                fmt::format("{} has no time: {}", rival.baseline, rival.failure));
    }
  }
}

void add_workloads(std::string& out, const Paint& paint, const Verdict& verdict) {
  if (verdict.workloads.size() < 2) return;
  std::size_t shown = 0;
  for (const WorkloadVerdict& workload : verdict.workloads) {
    // Passes without a time have nothing to say.
    if (workload.outcome == Outcome::kPassed && !workload.speedup) continue;
    if (++shown > kMaxWorkloadRows) continue;
    std::string text = workload.speedup ? speedup_text(*workload.speedup)
                                        : outcome_text(workload.outcome, workload.violation);
    if (workload.times) text += fmt::format(", {}", format_ms(workload.times->candidate_ms));
    add_row(out, paint, shown == 1 ? "workloads" : "",
            fmt::format("{}  {}", short_id(workload.uuid), text));
  }
  if (shown > kMaxWorkloadRows)
    add_row(out, paint, "", fmt::format("... {} more", shown - kMaxWorkloadRows));
}

// The verdict's own diagnostics come first. A pass adds the risks of all workloads and which errors
// were near their budgets, each once; any other verdict adds those of the first workload that has
// its outcome and a diagnostic.
std::vector<task::Diagnostic> diagnostics_of(const Verdict& verdict) {
  std::vector<task::Diagnostic> all = verdict.diagnostics;
  if (verdict.outcome == Outcome::kPassed) {
    std::set<std::string> said;
    for (const WorkloadVerdict& workload : verdict.workloads)
      std::ranges::copy_if(workload.diagnostics, std::back_inserter(all),
                           [&](const task::Diagnostic& one) {
                             return (one.kind == "risk" || one.kind == "borderline") &&
                                    said.insert(one.message).second;
                           });
    return all;
  }
  for (const WorkloadVerdict& workload : verdict.workloads) {
    if (workload.outcome != verdict.outcome || workload.diagnostics.empty()) continue;
    all.insert(all.end(), workload.diagnostics.begin(), workload.diagnostics.end());
    break;
  }
  return all;
}

}  // namespace

std::string speedup_text(const task::Speedup& speedup) {
  return fmt::format("{:.3g}x ({:.3g} to {:.3g})", speedup.median, speedup.low, speedup.high);
}

std::string card(const Verdict& verdict, bool colour) {
  Paint paint(colour);
  std::string out = fmt::format("{}  {}", paint.bold(printable(verdict.candidate_name, 80)),
                                paint.outcome(verdict.outcome, headline_of(verdict)));
  if (verdict.speedup) out += fmt::format("  {}", paint.bold(speedup_text(*verdict.speedup)));
  out +=
      fmt::format("  {}\n", paint.dim(fmt::format("{}, {}, {}", printable(verdict.problem_name, 80),
                                                  verdict.language, to_string(verdict.target))));
  add_row(out, paint, "time", times_text(verdict));
  add_rivals(out, paint, verdict);
  add_workloads(out, paint, verdict);
  add_gpu(out, paint, verdict);
  add_row(out, paint, "error", errors_text(verdict));
  for (const task::Diagnostic& diagnostic : diagnostics_of(verdict)) {
    add_row(out, paint, printable(diagnostic.kind, 10),
            printable(diagnostic.message, kMaxMessageBytes));
  }
  add_row(out, paint, "compat", compat_text(verdict));
  if (verdict.evidence_level != task::EvidenceLevel::kTimed)
    add_row(out, paint, "evidence", task::to_string(verdict.evidence_level));
  add_row(out, paint, "cost", cost_text(verdict.cost));
  if (!verdict.evidence.empty()) add_row(out, paint, "stored", printable(verdict.evidence, 300));
  return out + "\n";
}

}  // namespace kw::front
