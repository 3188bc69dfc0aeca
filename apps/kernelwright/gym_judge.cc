// Futures of the gym, waited for.
#include "kernelwright/gym_judge.h"

#include "tracing/trace.h"

namespace kw::front {
namespace {

class GymJudge : public Judge {
 public:
  explicit GymJudge(std::unique_ptr<gym::Gym> gym) : gym_(std::move(gym)) {}

  Result<task::Verdict> judge(gym::EvalRequest request, std::stop_token stop) override {
    return gym_
        ->submit(std::move(request), std::chrono::steady_clock::time_point::max(), std::move(stop))
        .get();
  }
  Result<task::Signature> describe(const task::Problem& problem,
                                   const std::string& target) override {
    return gym_->describe(problem, target);
  }
  Result<gym::ProblemCheck> check(const gym::CheckRequest& request,
                                  const std::stop_token& stop) override {
    return gym_->check(request, "cpu", stop);
  }
  Result<writer::Graph> trace(const gym::TraceRequest& request,
                              const std::stop_token& stop) override {
    return tracing::trace(*gym_, request, stop);
  }
  Result<gym::Capabilities> capabilities(const std::string& target) override {
    return gym_->capabilities(target);
  }

 private:
  std::unique_ptr<gym::Gym> gym_;
};

}  // namespace

Result<std::unique_ptr<Judge>> start_gym_judge(gym::GymOptions options) {
  KW_TRY(auto gym, gym::Gym::start(std::move(options)));
  return std::make_unique<GymJudge>(std::move(gym));
}

}  // namespace kw::front
