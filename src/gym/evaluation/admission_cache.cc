// Admission files and the rule that joins the findings of all workloads.
#include "gym/evaluation/admission_cache.h"

#include <algorithm>

#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "gym/version.h"
#include "os/file.h"

namespace kw::gym {
namespace {

Result<AdmissionFindings> parse(const std::string& text) {
  KW_TRY(Json value, parse_json(text));
  KW_TRY(ObjectReader reader, ObjectReader::make(value, "admission"));
  AdmissionFindings findings;
  KW_TRY(findings.failure, reader.string("failure"));
  KW_TRY(findings.timed, reader.boolean_or("timed", false));
  KW_TRY(findings.passing, reader.strings_or_empty("passing"));
  KW_TRY(findings.inert, reader.strings_or_empty("inert"));
  KW_TRY(findings.reference_failed, reader.boolean_or("reference_failed", false));
  KW_TRY(double ms, reader.number_or("reference_ms", 0));
  if (ms > 0) findings.reference_ms = ms;
  return findings;
}

// The names that stand in the lists of all workloads.
std::vector<std::string> in_all(const std::vector<AdmissionFindings>& workloads,
                                std::vector<std::string> AdmissionFindings::* list) {
  std::vector<std::string> common = workloads.front().*list;
  for (const AdmissionFindings& findings : workloads) {
    std::erase_if(common, [&](const std::string& name) {
      return std::find((findings.*list).begin(), (findings.*list).end(), name) ==
             (findings.*list).end();
    });
  }
  return common;
}

// Trivial candidates that get a time on some workload, or that pass everywhere.
std::vector<std::string> undeserved(const std::vector<AdmissionFindings>& workloads) {
  std::vector<std::string> names = in_all(workloads, &AdmissionFindings::passing);
  for (const AdmissionFindings& findings : workloads) {
    if (!findings.timed) continue;
    for (const std::string& name : findings.passing)
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

}  // namespace

std::filesystem::path AdmissionCache::path_of(const std::string& problem_hash,
                                              const std::string& uuid) const {
  return folder_ /
         (sha256_hex(problem_hash + "/" + uuid + "/" + std::to_string(kGymVersion)) + ".json");
}

std::optional<AdmissionFindings> AdmissionCache::find(const std::string& problem_hash,
                                                      const std::string& uuid) const {
  auto text = os::read_file(path_of(problem_hash, uuid), 1U << 20U);
  if (!text) return std::nullopt;
  auto findings = parse(*text);
  if (!findings) return std::nullopt;
  return *findings;
}

void AdmissionCache::store(const std::string& problem_hash, const std::string& uuid,
                           const AdmissionFindings& findings) const {
  std::error_code ignored;
  std::filesystem::create_directories(folder_, ignored);
  Json value = {{"failure", findings.failure},
                {"timed", findings.timed},
                {"passing", findings.passing},
                {"inert", findings.inert},
                {"reference_failed", findings.reference_failed},
                {"reference_ms", findings.reference_ms.value_or(0)}};
  if (auto stored = os::write_file_atomic(path_of(problem_hash, uuid), value.dump()); !stored)
    log::warning(stored.error().message());
}

std::optional<Quarantine> quarantine_of(const std::vector<AdmissionFindings>& workloads) {
  using Cause = QuarantineCause;
  for (const AdmissionFindings& findings : workloads) {
    if (findings.failure.empty()) continue;
    return Quarantine{findings.reference_failed ? Cause::kReferenceFailed : Cause::kReferenceUnfit,
                      {},
                      findings.failure};
  }
  if (auto passing = undeserved(workloads); !passing.empty())
    return Quarantine{Cause::kTrivialCandidate, passing,
                      "trivial candidates pass: " + join(passing, ", ")};
  if (auto inert = in_all(workloads, &AdmissionFindings::inert); !inert.empty())
    return Quarantine{Cause::kInertInput, inert,
                      "inputs that change nothing: " + join(inert, ", ")};
  return std::nullopt;
}

std::string quarantine_reason(const std::vector<AdmissionFindings>& workloads) {
  if (workloads.empty()) return "it has no workload for this target";
  auto quarantine = quarantine_of(workloads);
  return quarantine ? quarantine->reason : "";
}

}  // namespace kw::gym
