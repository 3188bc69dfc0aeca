// gym::Judge: the gym as a search uses it, or verdicts of an earlier run.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "base/result.h"
#include "gym/judge.h"
#include "runlog/tree.h"

namespace kw::search {

// The verdicts of a run, by problem and candidate, so that its decisions replay. An attempt that it
// could not judge fails again with the same error. Interfaces come from `inner`, which must outlive
// it.
class RecordedJudge : public gym::Judge {
 public:
  RecordedJudge(std::filesystem::path folder, const runlog::Run& run, gym::Judge& inner);
  // kNotFound for a candidate that was not judged in that run.
  Result<task::Verdict> judge(gym::EvalRequest request, std::stop_token stop) override;
  Result<task::Signature> describe(const task::Problem& problem, task::Target target) override;
  bool may_recover() const override { return false; }

 private:
  struct Failure {
    std::string candidate_hash;
    Error error;
  };

  std::filesystem::path folder_;
  std::map<std::pair<std::string, std::string>, std::string> verdicts_;  // hashes to blob
  // The key is the problem's key and the attempt.
  std::map<std::pair<std::string, int>, Failure> failures_;
  gym::Judge& inner_;
};

}  // namespace kw::search
