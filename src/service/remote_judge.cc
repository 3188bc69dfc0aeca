#include "service/remote_judge.h"

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "base/error_names.h"
#include "base/log.h"
#include "gym/version.h"
#include "service/work.h"

namespace kw::service {
namespace {

constexpr int kPollSeconds = 20;

// The error of a task without an answer.
Error error_of_task(const Json& status, const std::string& state, const std::string& what) {
  ErrorCode code = ErrorCode::kUnavailable;
  std::string message = "task " + state;
  if (state == "cancelled") code = ErrorCode::kCancelled;
  if (state == "expired") code = ErrorCode::kDeadlineExceeded;
  const auto error = status.find("error");
  if (error != status.end() && error->is_object()) {
    code = error_code_from_string(error->value("code", "")).value_or(code);
    message = error->value("message", message);
  }
  return {code, what + message};
}

class RemoteJudge : public gym::Judge {
 public:
  RemoteJudge(std::unique_ptr<ServiceClient> client, sandbox::Level isolation)
      : client_(std::move(client)), isolation_(isolation) {}

  Result<task::Verdict> judge(gym::EvalRequest request, std::stop_token stop) override {
    const std::string problem = request.problem.hash, candidate = request.candidate.hash;
    const std::string name = request.candidate.name;
    KW_TRY(task::Verdict out, ask<task::Verdict>(std::move(request), stop));
    // Never somebody else's.
    if (out.problem_hash != problem || out.candidate_hash != candidate)
      return fail(ErrorCode::kDataLoss,
                  "{}: the verdict is of problem {} and candidate {}, not of those that were sent",
                  client_->url(), out.problem_hash, out.candidate_hash);
    out.candidate_name = name;  // it may have been judged under another submitter's
    return out;
  }

  Result<task::Signature> describe(const task::Problem& problem, task::Target target) override {
    if (problem.is_module() || problem.workloads.empty())
      return ask<task::Signature>(DescribeRequest{problem, target}, {});
    return task::signature_of(problem.definition(), problem.workloads.front());
  }
  Result<gym::ProblemCheck> check(const gym::CheckRequest& request,
                                  const std::stop_token& stop) override {
    return ask<gym::ProblemCheck>(request, stop);
  }
  Result<std::string> trace(const gym::TraceRequest& request,
                            const std::stop_token& stop) override {
    KW_TRY(TracedText traced, ask<TracedText>(request, stop));
    return std::move(traced.graph);
  }
  Result<gym::Capabilities> capabilities(task::Target target) override {
    return ask<gym::Capabilities>(CapabilitiesRequest{target}, {});
  }

 private:
  template <typename Answer>
  Result<Answer> ask(const Work& work, const std::stop_token& stop) {
    auto answer = submit_and_wait(work, stop);
    if (!answer) return tl::unexpected(std::move(answer).error().with_context(client_->url()));
    if (auto* wanted = std::get_if<Answer>(&*answer)) return std::move(*wanted);
    return fail(ErrorCode::kDataLoss, "{}: the answer is of another kind than the question",
                client_->url());
  }

  Result<WorkAnswer> submit_and_wait(const Work& work, const std::stop_token& stop) {
    KW_TRY(const std::string id, submit(work, stop));
    const std::string path = "/v1/tasks/" + id;
    while (true) {
      auto status = client_->call_patiently("GET", fmt::format("{}?wait={}", path, kPollSeconds),
                                            nullptr, stop);
      if (stop.stop_requested()) {
        cancel(id);
        return fail(ErrorCode::kCancelled, "stopped");
      }
      if (!status) return tl::unexpected(std::move(status).error());
      KW_TRY(ObjectReader reader, ObjectReader::make(*status, "status"));
      KW_TRY(const bool is_final, reader.boolean("is_final"));
      if (!is_final) {
        tell_wait(status->value("waits_for", ""));
        continue;
      }
      KW_TRY(const std::string state, reader.string("state"));
      if (state != "done")
        return tl::unexpected(error_of_task(
            *status, state, std::holds_alternative<gym::EvalRequest>(work) ? "no verdict: " : ""));
      return read_answer(reader);
    }
  }

  // Problem and baseline are sent where the server does not know them.
  Result<std::string> submit(const Work& work, const std::stop_token& stop) {
    KW_TRY(Json body, to_json(work));
    const WorkParts parts = take_parts(work, body);
    Json task = {{"request", std::move(body)}, {"submission", unique_name()}};
    if (isolation_ != sandbox::Level::kNone) task["isolation"] = to_string(isolation_);
    const Json tasks = {{"tasks", Json::array({std::move(task)})}};
    const std::uint64_t sent_before = sent_.load();
    auto accepted = client_->call_patiently("POST", "/v1/tasks", tasks, stop);
    if (!accepted && accepted.error().code() == ErrorCode::kNotFound) {
      KW_TRY_STATUS(send(parts, sent_before, stop));
      accepted = client_->call_patiently("POST", "/v1/tasks", tasks, stop);
    }
    if (accepted) return id_in(*accepted);
    if (stop.stop_requested()) withdraw(tasks);
    return tl::unexpected(std::move(accepted).error());
  }

  // Of many judgements that begin together with the same problem one sends it. before: the value of
  // sent_ when the server was asked.
  Status send(const WorkParts& parts, std::uint64_t before, const std::stop_token& stop) {
    std::lock_guard lock(sending_);
    const std::string name = parts.problem.hash + " " + parts.baseline.hash;
    if (const auto last = sent_at_.find(name); last != sent_at_.end() && last->second > before)
      return {};
    KW_TRY_STATUS(send_parts(*client_, parts, stop));
    sent_at_[name] = ++sent_;
    return {};
  }

  // A stop may have cut the answer off: the same submission again tells the id.
  void withdraw(const Json& tasks) {
    const auto accepted = client_->call("POST", "/v1/tasks", tasks, {});
    if (!accepted) return;
    if (const auto id = id_in(*accepted)) cancel(*id);
  }

  // Once for each worker that is missing.
  void tell_wait(const std::string& waits_for) {
    if (waits_for.empty()) return;
    {
      std::lock_guard lock(mutex_);
      if (!told_.insert(waits_for).second) return;
    }
    log::warning(fmt::format("{}: tasks wait for {}: none is there", client_->url(), waits_for));
  }

  void cancel(const std::string& id) {
    (void)client_->call("DELETE", "/v1/tasks/" + id, nullptr,
                        {});  // it may run on: only time is lost
  }

  static Result<std::string> id_in(const Json& accepted) {
    const Json pointer = accepted.value("/tasks/0/id"_json_pointer, Json());
    if (!pointer.is_string())
      return fail(ErrorCode::kUnsupported, "the server's answer has no tasks[0].id");
    return pointer.get<std::string>();
  }

  std::unique_ptr<ServiceClient> client_;
  const sandbox::Level isolation_;
  std::mutex mutex_;  // guards told_
  std::set<std::string> told_;
  std::mutex sending_;                            // guards sent_at_
  std::atomic<std::uint64_t> sent_ = 0;           // how often parts were sent
  std::map<std::string, std::uint64_t> sent_at_;  // the number of the last time, by hashes
};

}  // namespace

Result<std::unique_ptr<gym::Judge>> make_remote_judge(ServiceClientOptions options,
                                                      sandbox::Level isolation) {
  KW_TRY(auto client, ServiceClient::make(std::move(options)));
  auto health = client->call("GET", "/healthz", nullptr, {});
  if (!health) return tl::unexpected(std::move(health).error().with_context(client->url()));
  KW_TRY(ObjectReader reader, ObjectReader::make(*health, client->url() + "/healthz"));
  KW_TRY(const std::int64_t version, reader.integer("gym_version"));
  if (version != gym::kGymVersion)
    return fail(ErrorCode::kUnsupported,
                "{}: its verdicts come from version {} of the gym, those of this program from {}",
                client->url(), version, gym::kGymVersion);
  return std::make_unique<RemoteJudge>(std::move(client), isolation);
}

}  // namespace kw::service
