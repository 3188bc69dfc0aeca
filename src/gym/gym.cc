// The worker pool behind Gym::submit.
#include "gym/gym.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "gym/supervisor/cpu_target.h"

namespace kw::gym {

Json to_json(const Capabilities& c) {
  return {{"available", c.available}, {"why_not", c.why_not}, {"isolation", c.isolation},
          {"freeze", c.freeze},       {"clock", c.clock},     {"languages", c.languages}};
}

Result<ProblemCheck> Target::check(const CheckRequest& request, const std::stop_token& /*stop*/) {
  return fail(ErrorCode::kUnsupported, "target \"{}\" cannot check {}", name(),
              request.problem.name);
}

Result<std::string> Target::trace(const TraceRequest& request, const std::stop_token& /*stop*/) {
  return fail(ErrorCode::kUnsupported, "target \"{}\" cannot trace {}", name(),
              request.problem.name);
}

struct Gym::State {
  using Outcome = Result<task::Verdict>;
  struct Job {
    EvalRequest request;
    std::chrono::steady_clock::time_point deadline;
    std::stop_token stop;
    std::string hash;
    std::vector<std::promise<Outcome>> waiting;  // guarded by mutex until the job is done
  };

  std::vector<std::unique_ptr<Target>> targets;
  std::mutex mutex;
  std::condition_variable_any wake;
  std::deque<std::shared_ptr<Job>> queue;                 // guarded by mutex
  std::map<std::string, std::shared_ptr<Job>> in_flight;  // guarded by mutex: by request hash
  std::vector<std::jthread> workers;                      // last: joined before the rest goes

  Target* find(std::string_view name) {
    for (auto& target : targets) {
      if (target->name() == name) return target.get();
    }
    return nullptr;
  }

  Outcome judge(const Job& job) {
    if (job.stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled before it began");
    if (std::chrono::steady_clock::now() > job.deadline)
      return fail(ErrorCode::kDeadlineExceeded, "not begun by its deadline");
    Target* target = find(job.request.options.target);
    if (target == nullptr)
      return fail(ErrorCode::kUnsupported, "target \"{}\" is not available in this build",
                  job.request.options.target);
    return target->judge(job.request, job.stop);
  }

  void work(const std::stop_token& stop) {
    while (true) {
      std::shared_ptr<Job> job;
      {
        std::unique_lock lock(mutex);
        if (!wake.wait(lock, stop, [&] { return !queue.empty(); })) return;
        job = std::move(queue.front());
        queue.pop_front();
      }
      Outcome outcome = judge(*job);
      std::vector<std::promise<Outcome>> waiting;
      {
        std::lock_guard lock(mutex);
        in_flight.erase(job->hash);
        waiting = std::move(job->waiting);
      }
      for (auto& promise : waiting) promise.set_value(outcome);
    }
  }
};

Gym::Gym() : state_(std::make_unique<State>()) {}

Gym::~Gym() {
  for (auto& worker : state_->workers) worker.request_stop();
  state_->workers.clear();
  for (auto& job : state_->queue) {
    for (auto& promise : job->waiting)
      promise.set_value(fail(ErrorCode::kCancelled, "the gym was shut down"));
  }
}

std::unique_ptr<Gym> Gym::with_targets(std::vector<std::unique_ptr<Target>> targets, int jobs) {
  std::unique_ptr<Gym> gym(new Gym);
  State* state = gym->state_.get();
  state->targets = std::move(targets);
  for (int i = 0; i < std::max(1, jobs); ++i) {
    state->workers.emplace_back([state](const std::stop_token& stop) { state->work(stop); });
  }
  return gym;
}

Result<std::unique_ptr<Gym>> Gym::start(GymOptions options) {
  int jobs = options.jobs;
  std::vector<std::unique_ptr<Target>> targets;
  KW_TRY(auto cpu, make_cpu_target(std::move(options)));
  targets.push_back(std::move(cpu));
  return with_targets(std::move(targets), jobs);
}

std::future<Result<task::Verdict>> Gym::submit(EvalRequest request,
                                               std::chrono::steady_clock::time_point deadline,
                                               std::stop_token stop) {
  std::promise<State::Outcome> promise;
  auto future = promise.get_future();
  std::string hash = request.hash();
  {
    std::lock_guard lock(state_->mutex);
    auto& running = state_->in_flight[hash];
    if (running != nullptr) {
      running->waiting.push_back(std::move(promise));
      return future;
    }
    running = std::make_shared<State::Job>();
    running->request = std::move(request);
    running->deadline = deadline;
    running->stop = std::move(stop);
    running->hash = hash;
    running->waiting.push_back(std::move(promise));
    state_->queue.push_back(running);
  }
  state_->wake.notify_one();
  return future;
}

Result<Capabilities> Gym::capabilities(std::string_view target) const {
  Target* found = state_->find(target);
  if (found == nullptr)
    return fail(ErrorCode::kUnsupported, "target \"{}\" is not available in this build", target);
  return found->capabilities();
}

Result<task::Signature> Gym::describe(const task::Problem& problem, std::string_view target) {
  Target* found = state_->find(target);
  if (found == nullptr)
    return fail(ErrorCode::kUnsupported, "target \"{}\" is not available in this build", target);
  return found->describe(problem);
}

Result<ProblemCheck> Gym::check(const CheckRequest& request, std::string_view target,
                                const std::stop_token& stop) {
  Target* found = state_->find(target);
  if (found == nullptr)
    return fail(ErrorCode::kUnsupported, "target \"{}\" is not available in this build", target);
  return found->check(request, stop);
}

Result<std::string> Gym::trace(const TraceRequest& request, std::string_view target,
                               const std::stop_token& stop) {
  Target* found = state_->find(target);
  if (found == nullptr)
    return fail(ErrorCode::kUnsupported, "target \"{}\" is not available in this build", target);
  return found->trace(request, stop);
}

}  // namespace kw::gym
