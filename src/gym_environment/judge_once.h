// JudgeOnce: a judge in front of another one that judges the same kernel once. Policies repeat
// themselves, and a timing is expensive.
#pragma once
#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "gym/judge.h"

namespace kw::gym_environment {

// Kernels are the same where the hashes of problem and candidate and the options are. Who asks for
// a kernel that is being judged waits. Errors, noisy verdicts and those without the speedup that
// was asked for are tried again. Verdicts of a file count where this judge's are made with the same
// tools, as its capabilities say. After kMeasurements judgements that gave no speedup the last one
// is kept, but in no file: the machine is too busy, or the kernel too slow for its time.
class JudgeOnce : public gym::Judge {
 public:
  explicit JudgeOnce(gym::Judge& inner) : inner_(inner) {}  // borrowed
  // The verdicts that the file has count from now on, and those that are kept are appended: kernels
  // are judged once in several runs, one after the other, of one machine. A file that is not there
  // is begun; a last line that was cut is cut off. Call it before the first judgement.
  // kInvalidArgument names the file and the line.
  Status keep_in(const std::filesystem::path& file);

  static constexpr int kMeasurements = 2;

  Result<task::Verdict> judge(gym::EvalRequest request, std::stop_token stop) override;
  Result<task::Signature> describe(const task::Problem& problem, task::Target target) override {
    return inner_.describe(problem, target);
  }
  Result<std::string> trace(const gym::TraceRequest& request,
                            const std::stop_token& stop) override {
    return inner_.trace(request, stop);
  }
  bool may_recover() const override { return inner_.may_recover(); }

 private:
  // The tools of this judge; nullopt: it does not say.
  std::optional<task::MadeWith> tools(task::Target target);
  struct Judgement {
    bool running = true;
    bool is_of_file = false;  // made by an earlier run
    task::Verdict verdict;
  };
  gym::Judge& inner_;
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::filesystem::path file_;                                    // empty: none
  std::map<std::string, std::shared_ptr<Judgement>> judgements_;  // under mutex_
  std::mutex tools_mutex_;
  std::map<task::Target, std::optional<task::MadeWith>> tools_;  // under tools_mutex_
  std::map<std::string, int> unmeasured_;  // judgements without a speedup; under mutex_
};

}  // namespace kw::gym_environment
