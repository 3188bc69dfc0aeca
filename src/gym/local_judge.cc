#include "gym/local_judge.h"

#include <utility>

namespace kw::gym {
namespace {

class LocalJudge : public Judge {
 public:
  explicit LocalJudge(std::unique_ptr<Gym> gym) : gym_(std::move(gym)) {}

  Result<task::Verdict> judge(EvalRequest request, std::stop_token stop) override {
    return gym_
        ->submit(std::move(request), std::chrono::steady_clock::time_point::max(), std::move(stop))
        .get();
  }
  Result<task::Signature> describe(const task::Problem& problem, task::Target target) override {
    return gym_->describe(problem, target);
  }
  Result<ProblemCheck> check(const CheckRequest& request, const std::stop_token& stop) override {
    return gym_->check(request, request.target, stop);
  }
  Result<std::string> trace(const TraceRequest& request, const std::stop_token& stop) override {
    return gym_->trace(request, request.target, stop);
  }
  Result<Capabilities> capabilities(task::Target target) override {
    return gym_->capabilities(target);
  }

 private:
  std::unique_ptr<Gym> gym_;
};

}  // namespace

Result<std::unique_ptr<Judge>> start_local_judge(GymOptions options) {
  KW_TRY(auto gym, Gym::start(std::move(options)));
  return std::make_unique<LocalJudge>(std::move(gym));
}

}  // namespace kw::gym
