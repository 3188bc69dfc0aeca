#include "service/ahead_worker.h"

#include <utility>
#include <variant>
#include <vector>

#include "gym/version.h"
#include "os/pause.h"
#include "service/fetched_parts.h"
#include "service/slots.h"
#include "service/work.h"

namespace kw::service {
namespace {

class AheadSlot {
 public:
  AheadSlot(const AheadWorkerOptions& options, ServiceClient& client, FetchedParts& parts)
      : options_(options), client_(client), parts_(parts) {}

  Status run(const std::stop_token& stop) {
    Json call = {{"worker", options_.name}, {"gym_version", gym::kGymVersion}};
    if (!options_.can.is_everything()) call["can"] = options_.can.to_json();
    while (!stop.stop_requested()) {
      auto answer = client_.call_patiently("POST", "/v1/compiles", call, stop);
      if (!answer && stop.stop_requested()) return {};
      if (!answer) return tl::unexpected(std::move(answer).error());
      KW_TRY(ObjectReader reader, ObjectReader::make(*answer, ""));
      KW_TRY(const Json* requests, reader.get("requests"));
      for (const Json& each : *requests) compile(each, stop);
      if (requests->empty()) (void)os::pause(options_.pause, stop);
    }
    return {};
  }

 private:
  void compile(const Json& request, const std::stop_token& stop) {
    const auto work = work_from_json(request, "request", parts_.readers(stop));
    if (!work) return options_.on_event(work.error().message());
    const auto* judgement = std::get_if<gym::EvalRequest>(&*work);
    if (judgement == nullptr) return;
    const auto outcome = options_.compile(*judgement);
    options_.on_event(fmt::format("{} for {}: {}", judgement->candidate.hash.substr(0, 16),
                                  judgement->problem.name,
                                  outcome ? *outcome : outcome.error().message()));
  }

  const AheadWorkerOptions& options_;
  ServiceClient& client_;
  FetchedParts& parts_;
};

}  // namespace

Status run_ahead_worker(const AheadWorkerOptions& options, ServiceClient& client,
                        const std::stop_token& stop) {
  FetchedParts parts(client);
  return run_slots(options.jobs, stop, [&](const std::stop_token& ending) {
    return AheadSlot(options, client, parts).run(ending);
  });
}

}  // namespace kw::service
