// Theory of operation: a thread for each task at once, which leases, judges and answers, and beside
// each judgement a thread that renews its lease. A stop, and a lease that is over, end the
// judgement through its stop token; what the lease was worth then decides what is told.
#include "service/worker.h"

#include <optional>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "gym/version.h"
#include "os/pause.h"
#include "service/fetched_parts.h"
#include "service/held_lease.h"
#include "service/intent_file.h"
#include "service/slots.h"
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

// The slots of a worker share these.
struct Shared {
  FetchedParts& parts;
  IntentFile& intents;
  Fitness& fitness;
};

class Slot {
 public:
  Slot(const WorkerOptions& options, Shared& shared, ServiceClient& client, gym::Judge& judge)
      : options_(options), shared_(shared), client_(client), judge_(judge) {}

  Status run(const std::stop_token& stop) {
    Json call = {{"worker", options_.name},
                 {"gym_version", gym::kGymVersion},
                 {"wait_seconds", kLeasePollSeconds}};
    if (!options_.can.is_everything()) call["can"] = options_.can.to_json();
    const auto tell = [&](const Status& fit) { tell_fitness(call, fit, stop); };
    while (shared_.fitness.wait(stop, tell)) {
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
  void tell_fitness(Json call, const Status& fit, const std::stop_token& stop) {
    options_.on_event(fit ? "takes tasks again"
                          : "in quarantine, takes no tasks: " + fit.error().message());
    if (fit) return;
    call["wait_seconds"] = 0;
    call["unfit"] = fit.error().message();
    (void)client_.call("POST", "/v1/leases", call, stop);  // so that it is seen there
  }

  void work(const Leased& leased, const std::stop_token& stop) {
    options_.on_event(fmt::format("task {}: leased", leased.task));
    note(shared_.intents.put({leased.task, leased.epoch}));
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
    const ReportKind kind = lease.report_of(failure, stop.stop_requested());
    if (kind == ReportKind::kFail && may_retry(failure->code())) shared_.fitness.suspect();
    answer(leased, found, kind, stop);
    note(shared_.intents.remove(leased.task));
  }

  // Without the file the lease ends by itself.
  void note(const Status& written) const {
    if (!written) options_.on_event("the file of intents: " + written.error().message());
  }

  Result<WorkAnswer> answer_of(const Leased& leased, const std::stop_token& stop) {
    KW_TRY(Work work, work_from_json(leased.request, "request", shared_.parts.readers(stop)));
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
  Shared& shared_;
  ServiceClient& client_;
  gym::Judge& judge_;
  std::string problem_;  // of the last task: its session may be open
};

// The worker before has died with these.
void tell_lost(ServiceClient& client, IntentFile& intents, const WorkerOptions& options,
               const std::stop_token& stop) {
  for (const Intent& each : intents.left()) {
    const auto told = client.call_patiently("POST", fmt::format("/v1/leases/{}/lost", each.task),
                                            {{"epoch", each.epoch}}, stop);
    if (stop.stop_requested()) return;
    options.on_event(told ? fmt::format("task {}: its worker was lost", each.task)
                          : fmt::format("task {}: {}", each.task, told.error().message()));
    (void)intents.remove(each.task);
  }
}

}  // namespace

Status run_worker(const WorkerOptions& options, ServiceClient& client, gym::Judge& judge,
                  const std::stop_token& stop) {
  FetchedParts parts(client);
  KW_TRY(const auto intents, IntentFile::open(options.intents));
  tell_lost(client, *intents, options, stop);
  Fitness fitness(options.fitness);
  Shared shared{parts, *intents, fitness};
  return run_slots(options.jobs, stop, [&](const std::stop_token& ending) {
    return Slot(options, shared, client, judge).run(ending);
  });
}

}  // namespace kw::service
