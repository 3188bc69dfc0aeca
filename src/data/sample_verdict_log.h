// The filter's log: the verdict of each sample, in little memory.
#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "data/judge_sample.h"
#include "data/session_log.h"
#include "task/target.h"

namespace kw::data {

struct StoredSampleVerdict {
  bool passed = false;
  Fault fault = Fault::kNone;
  std::string verdict, question;  // JSON, as the sample gets them

  Result<Json> verdict_json() const { return parse_json(verdict); }
};

// Only one thread may use it at a time.
class SampleVerdictLog {
 public:
  // Errors as of SessionLog::open(): the log belongs to the options and the gym's version.
  static Result<SampleVerdictLog> open(const std::filesystem::path& log,
                                       const gym::EvalOptions& options);

  Status add(const std::string& id, const SampleVerdict& verdict);
  // nullptr: none yet. Stands until the next add().
  const StoredSampleVerdict* find(const std::string& id) const;

 private:
  SampleVerdictLog(SessionLog log, std::unordered_map<std::string, StoredSampleVerdict> found,
                   task::Target target)
      : log_(std::move(log)), found_(std::move(found)), target_(target) {}

  SessionLog log_;
  std::unordered_map<std::string, StoredSampleVerdict> found_;  // the key is the sample's id
  task::Target target_;
};

}  // namespace kw::data
