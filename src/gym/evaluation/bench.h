// Bench: where candidates run and are measured. The evaluation (evaluation.h) is the same for all:
// the CPU (supervisor/cpu_bench.h), Triton's interpreter (supervisor/interpret_bench.h), a GPU.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "gym/compilation.h"
#include "gym/eval_options.h"
#include "gym/evaluation/rivals.h"
#include "gym/messages/workload_report.h"
#include "gym/problem_check.h"
#include "task/candidate.h"
#include "task/problem.h"
#include "task/signature.h"
#include "task/target.h"
#include "task/verdict.h"

namespace kw::gym {

// A bench builds programs and runs them. Each bench has a form of its own and gets no other's.
class Program {
 public:
  virtual ~Program() = default;
};

struct Build {
  std::unique_ptr<Program> program;  // null: the candidate is at fault
  std::string mistake;               // says to the candidate's author why there is no program
  std::string unsupported;           // why there is none by nobody's fault
  std::optional<bool> cached;        // nullopt where nothing is compiled
  std::string triton_version;
  double wall_ms = 0;
};

// The side of a pair that a program is for.
enum class BuildFor { kCandidate, kBaseline };

// The memory that the two sides of a pair write their results to.
enum class PairMemory {
  kDrawn,      // that of the session; which side gets which is drawn
  kKept,       // as it was drawn last
  kExchanged,  // each side that of the other
  kNew,        // other memory than before
};

// One workload of one problem, opened for judging. Candidates are judged in it one after the other.
// One caller at a time, but for build(). After an error the session is of no use.
class BenchSession {
 public:
  virtual ~BenchSession() = default;
  virtual const task::Signature& signature() const = 0;
  // A reference that fails is in findings().failure.
  virtual const AdmissionFindings& findings() const = 0;
  // Memory that the session holds while nobody uses it: tensors and processes.
  virtual std::uint64_t resident_bytes() const = 0;

  // Any thread. kUnsupported without the language's tool chain.
  virtual Result<Build> build(const task::Candidate& candidate, BuildFor side) = 0;
  // The reference itself.
  virtual Result<std::unique_ptr<Program>> reference_program(Compilation compilation) = 0;
  // The evaluation's: what is known of others than the baseline.
  KnownRivals& rivals() { return rivals_; }

  // Whether a program has autotuners whose choices only a clock here can make.
  virtual bool wants_tuning(const Program& /*program*/) const { return false; }
  // Makes these choices by a few calls of each configuration beside the baseline, which must have
  // been started; the program is judged with them.
  virtual Status tune(Program& /*program*/, const std::stop_token& /*stop*/) { return {}; }

  // Begins to start a baseline, in place of the one before; judge() needs one, and waits for it.
  virtual Status start_baseline(const Program& baseline, PairMemory memory) = 0;
  // unused: no candidate was judged beside it yet.
  virtual bool has_baseline(bool unused) const = 0;

  // How many pairs of processes measure a candidate by these options. Known when the first judge()
  // has returned.
  virtual int process_pairs(const EvalOptions& options) const = 0;
  // The report on one candidate beside the baseline. The options are those of open(), but for those
  // that describe() marks as per judgement. pair: which of process_pairs() this is, from 0.
  virtual Result<WorkloadReport> judge(const Program& candidate, const EvalOptions& options,
                                       int pair, const std::stop_token& stop) = 0;

  // Asks what only this bench asks of a judged candidate: whose work it is, or what a benchmark's
  // own trials say. The report is changed by the answers. enter(stage) says which stage begins.
  // is_first: no workload of this evaluation has a report yet.
  // options: those of judge().
  struct Completion {
    const EvalOptions& options;
    bool is_first = true;
    std::function<void(std::string_view stage)> enter;
    std::stop_token stop;
  };
  virtual Status complete(Program& candidate, WorkloadReport& report,
                          const Completion& completion) = 0;

 private:
  KnownRivals rivals_;
};

// Any thread may call; sessions of one bench may be used side by side.
class Bench {
 public:
  virtual ~Bench() = default;
  // The target of the workloads that run here.
  virtual task::Target workload_target() const = 0;
  // The target whose workloads run here where a problem has none of the first; nullopt: none.
  virtual std::optional<task::Target> other_workload_target() const { return std::nullopt; }
  // The evidence level of passes without a time; nullopt: the usual one.
  virtual std::optional<task::EvidenceLevel> evidence_level() const { return std::nullopt; }
  // The tools that build and run candidates, baselines and references here: all of one verdict.
  virtual task::MadeWith made_with() const { return {}; }
  // The options that the bench judges by, where it cannot follow those asked for.
  virtual EvalOptions options_here(EvalOptions options) const { return options; }
  // Whether the builds of one candidate's workloads are made side by side.
  virtual bool builds_side_by_side() const { return false; }
  // The name and remedy of what this machine lacks, where that is why a candidate failed; `told` is
  // all that the candidate and its compiler wrote. nullopt: the failure is the candidate's.
  virtual std::optional<std::string> lacks(const task::Candidate& /*candidate*/,
                                           const std::string& /*told*/) const {
    return std::nullopt;
  }
  // Before a --precise measurement: kUnavailable while others use the machine.
  virtual Status require_quiet() const = 0;

  // admit: run the battery of trivial candidates as well.
  virtual Result<std::unique_ptr<BenchSession>> open(const task::Problem& problem,
                                                     const task::Workload& workload,
                                                     const EvalOptions& options, bool admit,
                                                     const std::stop_token& stop) = 0;
};

// Whether calls of candidates of this workload are timed; otherwise they are checked only.
bool is_timed(const task::Problem& problem, const task::Workload& workload,
              const EvalOptions& options);

}  // namespace kw::gym
