// The problems that may be judged: the findings of the admission battery per workload, kept by
// problem hash.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "gym/problem_check.h"

namespace kw::gym {

// Files of its own, written atomically; a damaged one counts as missing. Several supervisors may
// share the folder.
class AdmissionCache {
 public:
  explicit AdmissionCache(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::optional<AdmissionFindings> find(const std::string& problem_hash,
                                        const std::string& uuid) const;
  void store(const std::string& problem_hash, const std::string& uuid,
             const AdmissionFindings& findings) const;

 private:
  std::filesystem::path path_of(const std::string& problem_hash, const std::string& uuid) const;
  std::filesystem::path folder_;
};

// Returns nullopt when the problem is admitted. A trivial candidate must fail on each workload that
// is timed, and on one at least. An input needs to matter on one workload only. workloads: at least
// one.
std::optional<Quarantine> quarantine_of(const std::vector<AdmissionFindings>& workloads);

// "" when the problem is admitted; otherwise the reason for its quarantine.
std::string quarantine_reason(const std::vector<AdmissionFindings>& workloads);

}  // namespace kw::gym
