// The findings of the admission battery about a problem: whether candidates may be judged on it,
// and where a trivial one would pass. docs/formats/problem_check.md.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "task/problem.h"
#include "task/target.h"

namespace kw::gym {

// The findings of the battery of trivial candidates on one workload.
struct AdmissionFindings {
  std::string failure;            // the reference cannot be judged at all: why
  bool reference_failed = false;  // with a failure: it gave no outputs; else they are of no use
  bool timed = false;  // its time counts: nothing trivial may pass here, hard inputs counted
  std::vector<std::string> passing;    // trivial candidates that pass here
  std::vector<std::string> inert;      // dynamic inputs that change nothing here
  std::optional<double> reference_ms;  // the fastest of the runs of the reference
};

enum class QuarantineCause { kReferenceFailed, kReferenceUnfit, kTrivialCandidate, kInertInput };

struct Quarantine {
  QuarantineCause cause = QuarantineCause::kReferenceFailed;
  std::vector<std::string> names;  // trivial candidates or inputs
  std::string reason;              // for people
};

struct CheckRequest {
  task::Problem problem;
  task::Target target = task::Target::kCpu;
  double timeout_seconds = 0;      // limit of one run of the reference; 0: 60 s
  std::uint64_t memory_bytes = 0;  // limit of the reference's process; 0: the same as for judging
};

struct ProblemCheck {
  struct Workload {
    std::string uuid;
    AdmissionFindings findings;
  };
  // The rule that joins workloads holds for each target by itself: candidates of one target are
  // never judged on the workloads of another.
  struct Target {
    task::Target target = task::Target::kCpu;
    std::optional<Quarantine> quarantine;
  };
  std::vector<Workload> workloads;
  std::vector<Target> targets;           // targets with a workload that was checked
  std::vector<std::string> not_checked;  // uuids of workloads that cannot run here
};

}  // namespace kw::gym
