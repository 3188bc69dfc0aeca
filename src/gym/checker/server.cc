// Requests of the supervisor, answered through a memory file each.
#include "gym/checker/server.h"

#include <memory>

#include "gym/checker/lease_client.h"
#include "gym/checker/session.h"
#include "gym/messages/checker_messages.h"
#include "gym/named_fds.h"
#include "os/memory.h"
#include "os/message.h"

namespace kw::gym {
namespace {

// Executors on a GPU wait awake for so long: while other sandboxes begin, freezing and thawing two
// processes takes 20 ms.
constexpr auto kAwake = std::chrono::milliseconds(200);

Result<CheckerAnswer> handle(os::Message& message, std::unique_ptr<Session>& session,
                             const Result<Backend*>& backend, int control) {
  if (!backend) return tl::unexpected(backend.error());
  KW_TRY(ReceivedFds fds, ReceivedFds::of(message));
  KW_TRY(CheckerRequest request, checker_request_from_json(std::move(message.body)));
  if (const auto* open = std::get_if<OpenRequest>(&request)) {
    Opened opened;
    KW_TRY(session, Session::open(*open, std::move(fds), opened, **backend));
    return CheckerAnswer(std::move(opened));
  }
  if (session == nullptr) return fail(ErrorCode::kInternal, "a request before open");
  KW_TRY(TurnScope turn, TurnScope::begin(session->turn()));
  if (const auto* baseline = std::get_if<BaselineRequest>(&request)) {
    KW_TRY(BaselineStarted started, session->start_baseline(*baseline, fds));
    return CheckerAnswer(std::move(started));
  }
  if (const auto* kernelbench = std::get_if<KernelBenchRequest>(&request)) {
    KW_TRY(KernelBenchTried tried, session->kernelbench(*kernelbench, fds));
    return CheckerAnswer(tried);
  }
  LeaseClient lease(control);
  if (const auto* trial = std::get_if<TrialRequest>(&request)) {
    KW_TRY(Tried tried, session->try_out(*trial, fds, lease));
    return CheckerAnswer(tried);
  }
  KW_TRY(WorkloadReport report, session->judge(std::get<JudgeRequest>(request), fds, lease));
  return CheckerAnswer(std::move(report));
}

// The next request. Where none comes for a while the session's executors rest.
Result<os::Message> next_request(int control, Session* session) {
  if (session != nullptr && session->is_awake()) {
    auto soon = os::receive_message(control, kAwake);
    if (soon || soon.error().code() != ErrorCode::kDeadlineExceeded) return soon;
    session->rest();
  }
  return os::receive_message(control, std::chrono::milliseconds(-1));
}

}  // namespace

Status serve_checker(int control, const Result<Backend*>& backend) {
  std::unique_ptr<Session> session;
  while (true) {
    auto message = next_request(control, session.get());
    if (!message && message.error().code() == ErrorCode::kUnavailable) return {};
    if (!message) return tl::unexpected(std::move(message).error());
    auto handled = handle(*message, session, backend, control);
    const CheckerAnswer answer =
        handled ? std::move(*handled)
                : CheckerAnswer(CheckerFailed{handled.error().code(), handled.error().message()});
    const std::string text = to_json(answer).dump(-1, ' ', false, Json::error_handler_t::replace);
    KW_TRY(os::UniqueFd file, os::make_sealed_file("answer", text));
    KW_TRY_STATUS(os::send_message(control, to_json(Signal::kAnswer), {file.get()}));
  }
}

}  // namespace kw::gym
