// Evaluator: the gym as a search uses it, or verdicts of an earlier run.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "base/result.h"
#include "gym/gym.h"
#include "runlog/tree.h"

namespace kw::search {

// Any thread may call, several at once.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // Blocks until the verdict is there; kCancelled after a stop. An error is never the candidate's
  // fault.
  virtual Result<task::Verdict> judge(gym::EvalRequest request, std::stop_token stop) = 0;
  virtual Result<task::Signature> describe(const task::Problem& problem,
                                           const std::string& target) = 0;
  // Whether a failure may have passed some time later.
  virtual bool may_recover() const { return true; }
};

// The verdicts of a run, by problem and candidate, so that its decisions replay. An attempt that it
// could not judge fails again with the same error. Interfaces come from `inner`, which must outlive
// it.
class RecordedEvaluator : public Evaluator {
 public:
  RecordedEvaluator(std::filesystem::path folder, const runlog::Run& run, Evaluator& inner);
  // kNotFound for a candidate that was not judged in that run.
  Result<task::Verdict> judge(gym::EvalRequest request, std::stop_token stop) override;
  Result<task::Signature> describe(const task::Problem& problem,
                                   const std::string& target) override;
  bool may_recover() const override { return false; }

 private:
  struct Failure {
    std::string candidate_hash;
    Error error;
  };

  std::filesystem::path folder_;
  std::map<std::pair<std::string, std::string>, std::string> verdicts_;  // hashes to blob
  std::map<std::pair<std::string, int>, Failure> failures_;  // by the problem's key and attempt
  Evaluator& inner_;
};

}  // namespace kw::search
