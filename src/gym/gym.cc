// The threads behind Gym::submit.
#include "gym/gym.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/check.h"
#include "gym/queue/queue.h"
#include "gym/supervisor/cpu_target.h"
#include "gym/supervisor/cuda_target.h"

namespace kw::gym {
namespace {

tl::unexpected<Error> unavailable(task::Target target) {
  return fail(ErrorCode::kUnsupported, "target \"{}\" is not available in this build",
              to_string(target));
}

// Jobs with the same one can be judged in the same sessions, where their options allow it.
std::string affinity_of(const EvalRequest& request) {
  return fmt::format("{} {}", to_string(request.options.target), request.problem.hash);
}

}  // namespace

Result<ProblemCheck> Target::check(const CheckRequest& request, const std::stop_token& /*stop*/) {
  return fail(ErrorCode::kUnsupported, "target \"{}\" cannot check {}", to_string(target()),
              request.problem.name);
}

Result<std::string> Target::trace(const TraceRequest& request, const std::stop_token& /*stop*/) {
  return fail(ErrorCode::kUnsupported, "target \"{}\" cannot trace {}", to_string(target()),
              request.problem.name);
}

// Runs the queue: threads that judge, one that answers tickets whose deadline comes, and the stop
// requests of submitters. Promises are kept and stop callbacks destroyed without the mutex: a
// callback that runs meanwhile waits for it.
struct Gym::State {
  using Answer = Result<task::Verdict>;
  using Stopped = std::function<void()>;
  struct Ticket {
    std::promise<Answer> promise;
    std::string candidate;                                 // the submitter's name of it
    std::unique_ptr<std::stop_callback<Stopped>> on_stop;  // null: not yet, or cannot be stopped
  };
  struct Job {
    EvalRequest request;
    std::stop_source stop;
    std::string session_key;  // empty: not asked for yet
  };
  // A ticket with its answer.
  using Answered = std::vector<std::pair<Ticket, Answer>>;

  std::vector<std::unique_ptr<Target>> targets;
  std::mutex mutex;
  std::condition_variable_any wake, deadlines_changed;
  Queue queue;                                // guarded by mutex, as the next three
  std::map<Queue::TicketId, Ticket> tickets;  // without an answer
  std::map<Queue::JobId, std::shared_ptr<Job>> jobs;
  std::vector<Ticket> cancelled;      // answered inside their callback; destroyed elsewhere
  std::vector<std::jthread> threads;  // last: joined before the rest goes

  // nullptr: this gym lacks it.
  Target* find(task::Target asked) {
    for (auto& target : targets) {
      if (target->target() == asked) return target.get();
    }
    return nullptr;
  }

  Answer judge(const Job& job) {
    Target* target = find(job.request.options.target);
    if (target == nullptr) return unavailable(job.request.options.target);
    return target->judge(job.request, job.stop.get_token());
  }

  // Under the mutex.
  bool is_open(Queue::JobId id) {
    Job& job = *jobs.at(id);
    const Target* target = find(job.request.options.target);
    if (target == nullptr) return false;
    if (job.session_key.empty()) job.session_key = target->session_key(job.request);
    return !job.session_key.empty() && target->is_open(job.session_key);
  }
  void carry_out(const Queue::Gone& gone) {
    if (gone.stop) jobs.at(*gone.stop)->stop.request_stop();
    if (gone.dropped) jobs.erase(*gone.dropped);
  }
  void answer(Answered& out, Queue::TicketId id, Answer with) {
    auto found = tickets.find(id);
    if (found == tickets.end()) return;
    out.emplace_back(std::move(found->second), std::move(with));
    tickets.erase(found);
  }

  // One verdict may answer tickets for which its candidate has other names.
  static void deliver(Answered answered) {
    for (auto& [ticket, answer] : answered) {
      if (answer) answer->candidate_name = ticket.candidate;
      ticket.promise.set_value(std::move(answer));
    }
  }

  void work(const std::stop_token& stop) {
    while (true) {
      std::optional<Queue::JobId> id;
      std::shared_ptr<Job> job;
      std::vector<Ticket> unused;
      {
        std::unique_lock lock(mutex);
        unused.swap(cancelled);
        if (!wake.wait(lock, stop, [&] { return queue.waiting() > 0; })) return;
        id = queue.start([this](Queue::JobId waiting) { return is_open(waiting); });
        KW_CHECK(id.has_value());  // one waits
        job = jobs.at(*id);
      }
      unused.clear();
      const Answer verdict = judge(*job);
      Answered answered;
      {
        std::lock_guard lock(mutex);
        for (Queue::TicketId ticket : queue.finish(*id)) answer(answered, ticket, verdict);
        jobs.erase(*id);
      }
      deliver(std::move(answered));
    }
  }

  void watch_deadlines(const std::stop_token& stop) {
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      Answered late;
      for (const Queue::Expired& expired : queue.expire(std::chrono::steady_clock::now())) {
        carry_out(expired.gone);
        answer(late, expired.ticket,
               fail(ErrorCode::kDeadlineExceeded, "not judged by its deadline"));
      }
      if (!late.empty()) {
        lock.unlock();
        deliver(std::move(late));
        lock.lock();
        continue;
      }
      const Queue::Time next = queue.next_deadline();
      const auto has_changed = [&] { return queue.next_deadline() != next; };
      if (next == Queue::Time::max())
        deadlines_changed.wait(lock, stop, has_changed);
      else
        deadlines_changed.wait_until(lock, stop, next, has_changed);
    }
  }

  // The submitter's stop: on its thread, inside the ticket's own callback.
  void cancel(Queue::TicketId id) {
    std::promise<Answer> promise;
    {
      std::lock_guard lock(mutex);
      auto found = tickets.find(id);
      if (found == tickets.end()) return;
      carry_out(queue.cancel(id));
      promise = std::move(found->second.promise);
      cancelled.push_back(std::move(found->second));
      tickets.erase(found);
    }
    promise.set_value(fail(ErrorCode::kCancelled, "stopped by its submitter"));
  }

  // After submit() has let go of the mutex: a stop that came before runs cancel() at once.
  void watch_stop(Queue::TicketId id, std::stop_token stop) {
    if (!stop.stop_possible()) return;
    auto callback =
        std::make_unique<std::stop_callback<Stopped>>(std::move(stop), [this, id] { cancel(id); });
    std::lock_guard lock(mutex);
    auto found = tickets.find(id);
    if (found != tickets.end()) found->second.on_stop.swap(callback);
  }
};

Gym::Gym() : state_(std::make_unique<State>()) {}

Gym::~Gym() {
  State::Answered answered;
  {
    std::lock_guard lock(state_->mutex);
    for (auto& thread : state_->threads) thread.request_stop();
    const Queue::Shutdown shutdown = state_->queue.shut_down();
    for (Queue::JobId job : shutdown.stop) state_->jobs.at(job)->stop.request_stop();
    for (Queue::JobId job : shutdown.dropped) state_->jobs.erase(job);
    for (Queue::TicketId ticket : shutdown.tickets)
      state_->answer(answered, ticket, fail(ErrorCode::kCancelled, "the gym was shut down"));
  }
  State::deliver(std::move(answered));
  state_->threads.clear();
}

std::unique_ptr<Gym> Gym::with_targets(std::vector<std::unique_ptr<Target>> targets, int jobs) {
  std::unique_ptr<Gym> gym(new Gym);
  State* state = gym->state_.get();
  state->targets = std::move(targets);
  for (int i = 0; i < std::max(1, jobs); ++i) {
    state->threads.emplace_back([state](const std::stop_token& stop) { state->work(stop); });
  }
  state->threads.emplace_back(
      [state](const std::stop_token& stop) { state->watch_deadlines(stop); });
  return gym;
}

Result<std::unique_ptr<Gym>> Gym::start(GymOptions options) {
  int jobs = options.jobs;
  std::vector<std::unique_ptr<Target>> targets;
  KW_TRY(auto cpu, make_cpu_target(options));
  targets.push_back(std::move(cpu));
  targets.push_back(make_cuda_target(std::move(options)));
  return with_targets(std::move(targets), jobs);
}

std::future<Result<task::Verdict>> Gym::submit(EvalRequest request,
                                               std::chrono::steady_clock::time_point deadline,
                                               std::stop_token stop) {
  std::promise<State::Answer> promise;
  auto future = promise.get_future();
  Queue::Wish wish{.key = request.hash(),
                   .tenant = request.tenant,
                   .affinity = affinity_of(request),
                   .priority = request.priority,
                   .deadline = deadline};
  Queue::TicketId ticket = 0;
  {
    std::lock_guard lock(state_->mutex);
    const Queue::Accepted accepted = state_->queue.submit(std::move(wish));
    ticket = accepted.ticket;
    State::Ticket& kept = state_->tickets[ticket];
    kept.promise = std::move(promise);
    kept.candidate = request.candidate.name;
    if (accepted.is_new)
      state_->jobs[accepted.job] =
          std::make_shared<State::Job>(State::Job{std::move(request), {}, {}});
  }
  state_->wake.notify_one();
  if (deadline != Queue::Time::max()) state_->deadlines_changed.notify_all();
  state_->watch_stop(ticket, std::move(stop));
  return future;
}

Result<Capabilities> Gym::capabilities(task::Target target) const {
  Target* found = state_->find(target);
  if (found == nullptr) return unavailable(target);
  return found->capabilities();
}

Result<task::Signature> Gym::describe(const task::Problem& problem, task::Target target) {
  Target* found = state_->find(target);
  if (found == nullptr) return unavailable(target);
  return found->describe(problem);
}

Result<ProblemCheck> Gym::check(const CheckRequest& request, task::Target target,
                                const std::stop_token& stop) {
  Target* found = state_->find(target);
  if (found == nullptr) return unavailable(target);
  return found->check(request, stop);
}

Result<std::string> Gym::trace(const TraceRequest& request, task::Target target,
                               const std::stop_token& stop) {
  Target* found = state_->find(target);
  if (found == nullptr) return unavailable(target);
  return found->trace(request, stop);
}

}  // namespace kw::gym
