#include "service/kernelgym/evaluations.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "service/kernelgym/evaluation_response.h"
#include "service/task_api.h"
#include "service/task_messages.h"

namespace kw::service::kernelgym {
namespace {

using service::TaskStatus;
using service::TicketId;

// A submission as POST /v1/tasks would read it, or the response that refuses it.
tl::expected<service::Submission, Json> prepared(const EvaluationRequest& request,
                                                 const service::Identity& who) {
  const auto refused = [&](const Error& why, bool is_kernels_fault = false) {
    return tl::unexpected(refused_response(request.task_id, why, is_kernels_fault));
  };
  if (const auto errors = workflow_errors(request); !errors.empty())
    return refused({ErrorCode::kInvalidArgument, errors.front()},
                   request.workflow != "kernelbench" || check_reference(request).is_valid);
  const auto eval = to_eval_request(request);
  if (!eval) return refused(eval.error());
  auto json = gym::to_json(*eval);
  if (!json) return refused(json.error());
  auto read =
      service::submissions_from_json({{"tasks", Json::array({{{"request", std::move(*json)}}})}});
  if (!read) return refused(read.error());
  service::Submission out = std::move(read->front());
  out.group = group_of_task(request.task_id);
  service::submit_as(who, out);
  return out;
}

// Its replies come on the service's thread, which is the only one that changes its responses.
class Evaluations : public std::enable_shared_from_this<Evaluations> {
 public:
  Evaluations(service::TaskService& service, service::Identity who,
              std::vector<EvaluationRequest> requests, const Options& options, Evaluated done)
      : service_(service),
        who_(std::move(who)),
        requests_(std::move(requests)),
        options_(options),
        done_(std::move(done)),
        began_(options.now()),
        submitted_at_(options.timestamp()),
        responses_(requests_.size()) {}

  void start(const std::stop_token& gone) {
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      auto one = prepared(requests_[i], who_);
      if (!one) {
        responses_[i] = std::move(one.error());
        continue;
      }
      places_.push_back(i);
      submissions_.push_back(std::move(*one));
    }
    on_gone_.emplace(gone, [this] { leave(); });
    std::vector<std::string> groups;
    for (const service::Submission& each : submissions_) groups.push_back(each.group);
    service_.newest(std::move(groups), [self = shared_from_this()](auto known) {
      if (!known) return self->end(tl::unexpected(std::move(known.error())));
      self->submit(*known);
    });
  }

 private:
  using Known = std::vector<std::optional<service::TaskTable::Newest>>;

  void submit(const Known& known) {
    std::vector<std::size_t> places;
    std::vector<service::Submission> fresh;
    for (std::size_t i = 0; i < submissions_.size(); ++i) {
      const std::size_t place = places_[i];
      const auto& old = known[i];
      const bool is_known = old && old->key == submissions_[i].key && old->status.state == "done";
      if (is_known && !requests_[place].force_refresh) {
        record(place, old->status);
        continue;
      }
      places.push_back(place);
      fresh.push_back(std::move(submissions_[i]));
    }
    places_ = std::move(places);
    if (fresh.empty()) return end_when_all();
    service_.submit(std::move(fresh), [self = shared_from_this()](auto submitted) {
      if (!submitted) return self->end(tl::unexpected(std::move(submitted.error())));
      if (submitted->no_room) return self->end(Answers{.no_room = submitted->no_room});
      self->follow(submitted->tickets);
    });
  }

  void follow(const std::vector<TicketId>& tickets) {
    bool is_gone = false;
    {
      const std::lock_guard lock(mutex_);
      tickets_ = tickets;
      is_gone = is_gone_;
    }
    if (is_gone) let_expire(tickets);
    for (std::size_t i = 0; i < tickets.size(); ++i) wait(places_[i], tickets[i]);
  }

  void wait(std::size_t place, TicketId ticket) {
    service_.status(ticket, who_.tenant, service::kLongestPoll,
                    [self = shared_from_this(), place, ticket](Result<TaskStatus> status) {
                      if (!status) return self->end(tl::unexpected(std::move(status.error())));
                      if (!status->is_final) return self->wait(place, ticket);
                      self->record(place, *status);
                      self->end_when_all();
                    });
  }

  void record(std::size_t place, const TaskStatus& status) {
    Json& out = responses_[place] = evaluation_response(requests_[place].task_id, status);
    out["submitted_at"] = submitted_at_;
    out["completed_at"] = options_.timestamp();
    out["processing_time"] = std::chrono::duration<double>(options_.now() - began_).count();
  }

  void end_when_all() {
    if (std::ranges::none_of(responses_, [](const Json& each) { return each.is_null(); }))
      end(Answers{.responses = std::move(responses_)});
  }

  void end(Result<Answers> result) {
    if (Evaluated done = std::exchange(done_, {})) done(std::move(result));
  }

  // On a thread of the HTTP server.
  void leave() {
    if (options_.ending.stop_requested()) return;
    std::vector<TicketId> tickets;
    {
      const std::lock_guard lock(mutex_);
      is_gone_ = true;
      tickets = tickets_;
    }
    let_expire(tickets);
  }

  void let_expire(const std::vector<TicketId>& tickets) {
    for (TicketId each : tickets) service_.let_expire(each, who_.tenant, options_.kept_for);
  }

  service::TaskService& service_;
  const service::Identity who_;
  const std::vector<EvaluationRequest> requests_;
  const Options options_;
  Evaluated done_;
  const std::chrono::steady_clock::time_point began_;
  const std::string submitted_at_;
  std::vector<Json> responses_;      // null: not there yet
  std::vector<std::size_t> places_;  // in responses_, of each submission and then of each ticket
  std::vector<service::Submission> submissions_;
  std::mutex mutex_;
  std::vector<TicketId> tickets_;                                     // under the mutex
  bool is_gone_ = false;                                              // under the mutex
  std::optional<std::stop_callback<std::function<void()>>> on_gone_;  // last: it uses the rest
};

}  // namespace

std::string group_of_task(const std::string& task_id) {
  return "service/kernelgym/" + task_id;
}

void evaluate(service::TaskService& service, const service::Identity& who,
              std::vector<EvaluationRequest> requests, const Options& options,
              const std::stop_token& gone, Evaluated done) {
  std::make_shared<Evaluations>(service, who, std::move(requests), options, std::move(done))
      ->start(gone);
}

}  // namespace kw::service::kernelgym
