// What the admission battery says about a problem: may candidates be judged on it, and where would
// a trivial one pass. docs/formats/problem_check.md.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "task/problem.h"

namespace kw::gym {

// What the battery of trivial candidates found on one workload (gym_contract 19, design 3.1).
struct AdmissionFindings {
  std::string failure;               // the reference cannot be judged at all: why
  bool reference_failed = false;     // with a failure: it gave no outputs; else they are of no use
  std::vector<std::string> passing;  // trivial candidates that pass here
  std::vector<std::string> inert;    // dynamic inputs that change nothing here
  std::optional<double> reference_ms;  // one run of the reference, the fastest of those made
};

enum class QuarantineCause { kReferenceFailed, kReferenceUnfit, kTrivialCandidate, kInertInput };

struct Quarantine {
  QuarantineCause cause = QuarantineCause::kReferenceFailed;
  std::vector<std::string> names;  // trivial candidates or inputs
  std::string reason;              // for people
};

struct CheckRequest {
  task::Problem problem;
  double timeout_seconds = 0;      // of one run of the reference; 0: 60 s
  std::uint64_t memory_bytes = 0;  // of the reference's process; 0: as for judging
};

struct ProblemCheck {
  struct Workload {
    std::string uuid;
    AdmissionFindings findings;
  };
  // The rule that joins workloads holds for each target by itself: candidates of one target are
  // never judged on the workloads of another.
  struct Target {
    std::string name;
    std::optional<Quarantine> quarantine;
  };
  std::vector<Workload> workloads;
  std::vector<Target> targets;           // those with a workload that was checked
  std::vector<std::string> not_checked;  // uuids of workloads that cannot run here
};

}  // namespace kw::gym
