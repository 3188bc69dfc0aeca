// Theory of operation: a thread for each task at once, which leases, judges and answers, and beside
// each judgement a thread that renews its lease. A stop, and a lease that is over, end the
// judgement through its stop token; what the lease was worth then decides what is told.
#include "service/worker.h"

#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "gym/version.h"
#include "os/pause.h"
#include "service/fetched_problems.h"
#include "service/held_lease.h"
#include "service/work.h"

namespace kw::service {
namespace {

constexpr int kLeasePollSeconds = 20;
constexpr std::chrono::seconds kLastWord{5};  // for an answer after a stop

struct Leased {
  std::string task;
  std::int64_t epoch = 0;
  double seconds = 0;
  Json request;
};

Result<std::optional<Leased>> leased_in(const Json& answer) {
  KW_TRY(ObjectReader reader, ObjectReader::make(answer, ""));
  KW_TRY(const Json* leases, reader.get("leases"));
  if (!leases->is_array() || leases->empty()) return std::nullopt;
  KW_TRY(ObjectReader fields, ObjectReader::make(leases->front(), "leases[0]"));
  Leased out;
  KW_TRY(out.task, fields.string("task"));
  KW_TRY(out.epoch, fields.integer("epoch"));
  KW_TRY(out.seconds, fields.number("seconds"));
  KW_TRY(const Json* request, fields.get("request"));
  out.request = *request;
  return out;
}

// The judge's call that a work stands for.
struct Doer {
  gym::Judge& judge;
  const std::stop_token& stop;

  Result<WorkAnswer> operator()(gym::EvalRequest request) const {
    return judge.judge(std::move(request), stop);
  }
  Result<WorkAnswer> operator()(const gym::CheckRequest& request) const {
    return judge.check(request, stop);
  }
  Result<WorkAnswer> operator()(const gym::TraceRequest& request) const {
    KW_TRY(std::string graph, judge.trace(request, stop));
    return TracedText{std::move(graph)};
  }
  Result<WorkAnswer> operator()(const DescribeRequest& request) const {
    return judge.describe(request.problem, request.target);
  }
  Result<WorkAnswer> operator()(const CapabilitiesRequest& request) const {
    return judge.capabilities(request.target);
  }
};

class Slot {
 public:
  Slot(const WorkerOptions& options, ServiceClient& client, FetchedProblems& problems,
       gym::Judge& judge)
      : options_(options), client_(client), problems_(problems), judge_(judge) {}

  Status run(const std::stop_token& stop) {
    Json call = {{"worker", options_.name},
                 {"gym_version", gym::kGymVersion},
                 {"wait_seconds", kLeasePollSeconds}};
    while (!stop.stop_requested()) {
      call["name"] = unique_name();
      call["problem"] = problem_;
      auto answer = client_.call_patiently("POST", "/v1/leases", call, stop);
      if (!answer && stop.stop_requested()) return {};
      if (!answer) return tl::unexpected(std::move(answer).error());
      KW_TRY(const std::optional<Leased> leased, leased_in(*answer));
      if (leased) work(*leased, stop);
    }
    return {};
  }

 private:
  void work(const Leased& leased, const std::stop_token& stop) {
    options_.on_event(fmt::format("task {}: leased", leased.task));
    std::stop_source ending;
    std::stop_callback forward(stop, [&] { ending.request_stop(); });
    HeldLease lease(leased.seconds);
    Result<WorkAnswer> found = fail(ErrorCode::kInternal, "");
    {
      std::jthread renewer([&](const std::stop_token& judged) {
        while (os::pause(lease.renewal_pause(), judged)) {
          const Result<bool> renewed = renew(leased, lease.renewal_pause(), judged);
          if (judged.stop_requested() || lease.goes_on_after(renewed)) continue;
          ending.request_stop();
          return;
        }
      });
      found = answer_of(leased, ending.get_token());
    }
    const Error* failure = found ? nullptr : &found.error();
    answer(leased, found, lease.report_of(failure, stop.stop_requested()), stop);
  }

  Result<WorkAnswer> answer_of(const Leased& leased, const std::stop_token& stop) {
    KW_TRY(Work work, work_from_json(leased.request, "request",
                                     [&](const Json& value, const std::string& where) {
                                       return problems_.read(value, where, stop);
                                     }));
    problem_ = problem_of(work);
    return std::visit(Doer{judge_, stop}, std::move(work));
  }

  void answer(const Leased& leased, const Result<WorkAnswer>& found, ReportKind kind,
              const std::stop_token& stop) {
    const std::string_view what = to_string(kind);
    Json more;
    if (kind == ReportKind::kComplete) more = to_json(*found);
    if (kind == ReportKind::kFail)
      more = {{"code", to_string(found.error().code())}, {"message", found.error().message()}};
    // After a stop it is tried for a while only: without an answer the lease runs out.
    std::stop_source late;
    std::jthread clock;
    std::optional<std::stop_callback<std::function<void()>>> begin;
    begin.emplace(stop, [&] {
      clock = std::jthread([&late](const std::stop_token& told) {
        if (os::pause(kLastWord, told)) late.request_stop();
      });
    });
    const auto told = tell_patiently(leased, what, more, late.get_token());
    begin.reset();
    options_.on_event(
        told ? fmt::format("task {}: {}", leased.task, what)
             : fmt::format("task {}: {}: {}", leased.task, what, told.error().message()));
  }

  Result<bool> renew(const Leased& leased, std::chrono::milliseconds most,
                     const std::stop_token& stop) {
    KW_TRY(const Json answer,
           client_.call("POST", path(leased, "renew"), body(leased, {}), stop, most));
    return answer.value("go_on", false);
  }
  static std::string path(const Leased& leased, std::string_view what) {
    return fmt::format("/v1/leases/{}/{}", leased.task, what);
  }
  static Json body(const Leased& leased, const Json& more) {
    Json out = {{"epoch", leased.epoch}};
    if (more.is_object()) out.update(more);
    return out;
  }
  Result<Json> tell_patiently(const Leased& leased, std::string_view what, const Json& more,
                              const std::stop_token& stop) {
    return client_.call_patiently("POST", path(leased, what), body(leased, more), stop);
  }

  const WorkerOptions& options_;
  ServiceClient& client_;
  FetchedProblems& problems_;
  gym::Judge& judge_;
  std::string problem_;  // of the last task: its session may be open
};

}  // namespace

Status run_worker(const WorkerOptions& options, ServiceClient& client, gym::Judge& judge,
                  const std::stop_token& stop) {
  std::stop_source ending;
  std::stop_callback forward(stop, [&] { ending.request_stop(); });
  std::mutex mutex;
  Status out;  // guarded by mutex
  FetchedProblems problems(client);
  {
    std::vector<std::jthread> slots;
    for (int i = 0; i < options.jobs; ++i)
      slots.emplace_back([&] {
        const Status status = Slot(options, client, problems, judge).run(ending.get_token());
        std::lock_guard lock(mutex);
        if (!status && out) out = status;
        ending.request_stop();
      });
  }
  return out;
}

}  // namespace kw::service
