// Evidence: everything a verdict was made from (docs/formats/evidence.md). The verdict is a
// function of it and of nothing else, so judging and re-judging cannot differ. Threads: values and
// free functions.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "gym/gym.h"
#include "gym/messages/workload_report.h"
#include "task/target.h"
#include "task/verdict.h"

namespace kw::gym {

inline constexpr int kEvidenceSchema = 1;

struct EvidenceProblem {
  std::string name, hash;
};
struct EvidenceCandidate {
  std::string name, hash, language;
};
struct EvidenceCost {
  std::optional<double> compile_ms;  // of all builds; nullopt where nothing was built
  double total_ms = 0;
};

struct Evidence {
  int schema = kEvidenceSchema;
  int gym_version = kGymVersion;
  std::string request;  // EvalRequest::hash()
  task::Target target = task::Target::kCpu;
  EvalOptions options;
  EvidenceProblem problem;
  EvidenceCandidate candidate;
  std::string tenant, trajectory;
  int turn = 0;
  std::vector<WorkloadReport> workloads;  // in the order in which they were judged
  EvidenceCost cost;
  std::string quarantined;                            // not empty: why the problem gives no reward
  std::string unsupported;                            // not empty: what this gym cannot run
  std::string compile_error;                          // not empty: the compiler's messages
  std::optional<bool> build_cached;                   // nullopt where nothing was compiled
  std::optional<task::EvidenceLevel> evidence_level;  // of an untimed pass, where it says more
  std::string triton_version;                         // Triton candidates
  task::MadeWith made_with;                           // the tools; gym_version stands above
};

// The members that identify what is judged.
Evidence evidence_of(const EvalRequest& request);

Json to_json(const Evidence& evidence);
// Keys of other versions are ignored. kInvalidArgument names the key that is missing or malformed,
// kUnsupported for another schema.
Result<Evidence> evidence_from_json(const Json& value);

// kInvalidArgument for samples, counts and costs that no measurement gives.
Result<task::Verdict> verdict_of(const Evidence& evidence);
Result<task::Verdict> verdict_from_evidence(const Json& evidence);

// Stores the bundle under its content hash; returns the path. With `digest` inside, a changed file
// is kDataLoss when read.
Result<std::filesystem::path> store_evidence(const std::filesystem::path& folder,
                                             const Json& evidence);
Result<Json> load_evidence(const std::filesystem::path& path);

}  // namespace kw::gym
