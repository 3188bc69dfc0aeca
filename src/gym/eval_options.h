// The options of an evaluation, each described once: JSON, command line flags, --set, the hash of a
// request and what --resume compares follow from describe(). Values; any thread may use its own.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/option_facts.h"
#include "base/result.h"
#include "gym/compilation.h"
#include "task/candidate.h"
#include "task/portable_candidate.h"
#include "task/target.h"

namespace kw::gym {

// Speedups are over the baseline: the reference in one of its forms, or another candidate, which
// counts by its content.
using Baseline = std::variant<Compilation, task::Candidate>;

// "eager", "compile", "max-autotune" or the candidate's name.
std::string name_of(const Baseline& baseline);
// How the reference runs as this baseline; nullopt: it is a candidate.
std::optional<Compilation> compilation_of(const Baseline& baseline);
// Whether torch.compile makes it.
bool is_compiled(const Baseline& baseline);
// eager, compile, max-autotune, or else the path of a candidate's file, which is read: the errors
// are those of task::load_candidate().
Result<Baseline> baseline_from_word(const std::string& word);

inline constexpr int kMaxProcessPairs = 64;
inline constexpr double kPreciseHalfWidth = 0.005;

struct EvalOptions {
  task::Target target = task::Target::kCpu;
  Baseline baseline = Compilation::kNone;
  // Names of Compilation: forms of the reference that are measured beside the baseline as soon as a
  // candidate is faster than that. Its speedup over the fastest stands in the verdict too.
  std::vector<std::string> rivals;
  bool precise = false;            // half-width 0.5 % over several process pairs
  double half_width_percent = 3;   // of the speedup's 95 % interval, where not precise
  int process_pairs = 0;           // that measure; 0: one, or eight where it matters
  int threads = 1;                 // for the candidate and the baseline; rewards use 1
  double max_seconds = 30;         // wall time of measuring one workload
  double timeout_seconds = 0;      // of one call; 0: max(2 s, 20 x the reference)
  std::uint64_t memory_bytes = 0;  // 0: 2 GiB + 4 x (inputs + outputs)
  // This decides who gets a GPU's context that no candidate used before. "confirm": first verdicts
  // come from the resident one, and a candidate that is faster than the baseline or fails in it is
  // judged again; "resident": only one that fails; "fresh": all.
  std::string gpu_context = "confirm";
  bool timing = true;  // false: correctness only
  bool store_evidence = true;
  std::vector<std::string> disabled;  // mechanisms switched off, for the tests that show what each
                                      // is for (docs/security.md)
};

struct EvalOptionFacts : OptionFacts {
  bool in_verdict = true;      // the outcome or the times may depend on it
  bool per_judgement = false;  // judgements of one open session may differ in it
};

inline constexpr double kMaxEvalSeconds = 86400;

// Calls visit(key, member, facts) for each option of an EvalOptions, const or not.
template <typename Options, typename Visit>
void describe(Options& o, Visit&& visit) {
  using Facts = EvalOptionFacts;
  const char* const measuring = "Measuring";
  const char* const limits = "Limits";
  visit("target", o.target, Facts{{"--target", "NAME", "", "what the candidate runs on"}});
  visit("baseline", o.baseline,
        Facts{{"--baseline", "NAME", measuring,
               "what speedups are over: eager (torch), compile (torch.compile), max-autotune "
               "(torch.compile, tuned) or a candidate's file"}});
  visit("rivals", o.rivals,
        Facts{{"--rival", "NAME", measuring,
               "who is faster than the baseline is compared with eager, compile or max-autotune as "
               "well; may be repeated"},
              true,
              true});
  visit("half_width_percent", o.half_width_percent,
        Facts{{"--half-width", "PERCENT", measuring,
               "measure until the speedup's 95 % interval is so narrow", 0.1, 50},
              true,
              true});
  visit("precise", o.precise,
        Facts{{"--precise", "", measuring, "to 0.5 %, over several process pairs"}, true, true});
  visit("process_pairs", o.process_pairs,
        Facts{{"--pairs", "N", measuring,
               "of fresh processes that measure; 0: one, or eight where memory is the limit", 0,
               kMaxProcessPairs},
              true,
              true});
  visit("threads", o.threads,
        Facts{{"--threads", "N", measuring, "for candidate and baseline", 1, 1024}});
  visit(
      "max_seconds", o.max_seconds,
      Facts{{"--max-seconds", "S", measuring, "for measuring one workload", 0.01, kMaxEvalSeconds},
            true,
            true});
  visit(
      "gpu_context", o.gpu_context,
      Facts{{"--gpu-context", "WHO", measuring,
             "GPU: who gets a context of its own: confirm (who is faster), resident (none), fresh "
             "(all)"},
            true,
            true});
  visit("timing", o.timing, Facts{{"--no-timing", "", measuring, "correctness only"}});
  visit("timeout_seconds", o.timeout_seconds,
        Facts{{"--timeout", "S", limits,
               "of one call in seconds; 0: 20 x the reference, at least 2 s", 0, kMaxEvalSeconds}});
  visit("memory_bytes", o.memory_bytes,
        Facts{{"--memory", "SIZE", limits,
               "of the candidate, 4GiB for example; 0: 2 GiB + 4 x (inputs + outputs)"}});
  visit(
      "store_evidence", o.store_evidence,
      Facts{{"--no-evidence", "", limits, "do not store what kernelwright rejudge needs"}, false});
  visit("disabled", o.disabled,
        Facts{{"--disable", "NAME", limits,
               "switch off a mechanism of the gym, for tests that show what it is for; verdicts "
               "are worth nothing then"}});
}

// docs/formats/request.md
Json to_json(const EvalOptions& options);
// The options that outcome or times may depend on.
Json verdict_options(const EvalOptions& options);
// Those of them that all judgements of an open session share.
Json session_options(const EvalOptions& options);
// kInvalidArgument names the key: unknown, of another kind, out of its range.
// read_baseline: of a baseline that is an object.
Result<EvalOptions> eval_options_from_json(
    const Json& value, const std::string& where,
    const task::CandidateReader& read_baseline = task::portable_candidate_from_json);

// kInvalidArgument for a number out of its range, and a number that is not one.
Status check(const EvalOptions& options, OptionNames names, const std::string& where = "");

}  // namespace kw::gym
