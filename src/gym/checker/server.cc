// Requests of the supervisor, answered through a memory file each.
#include "gym/checker/server.h"

#include <memory>

#include "gym/checker/session.h"
#include "gym/named_fds.h"
#include "os/memory.h"
#include "os/message.h"

namespace kw::gym {
namespace {

Result<Json> handle(os::Message& message, std::unique_ptr<Session>& session, int control) {
  KW_TRY(ReceivedFds fds, ReceivedFds::of(message));
  std::string op = message.body.value("op", "");
  if (op == "open") {
    Json answer = Json::object();
    KW_TRY(session, Session::open(std::move(message.body), std::move(fds), answer));
    return answer;
  }
  if (session == nullptr) return fail(ErrorCode::kInternal, "{} before open", op);
  KW_TRY(TurnScope turn, TurnScope::begin(session->turn()));
  if (op == "baseline") return session->start_baseline(message.body, fds);
  if (op == "kernelbench") return session->kernelbench(message.body, fds);
  if (op == "judge") return session->judge(message.body, fds, control);
  return fail(ErrorCode::kInternal, "unknown request {}", op);
}

}  // namespace

Status serve_checker(int control) {
  std::unique_ptr<Session> session;
  while (true) {
    auto message = os::receive_message(control, std::chrono::milliseconds(-1));
    if (!message && message.error().code() == ErrorCode::kUnavailable) return {};
    if (!message) return tl::unexpected(std::move(message).error());
    auto answer = handle(*message, session, control);
    Json body = answer ? std::move(*answer)
                       : Json{{"error",
                               {{"code", static_cast<int>(answer.error().code())},
                                {"message", answer.error().message()}}}};
    KW_TRY(
        os::UniqueFd file,
        os::make_sealed_file("answer", body.dump(-1, ' ', false, Json::error_handler_t::replace)));
    KW_TRY_STATUS(os::send_message(control, Json{{"op", "answer"}}, {file.get()}));
  }
}

}  // namespace kw::gym
