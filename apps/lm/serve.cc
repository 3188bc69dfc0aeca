// Says hello, loads, then serves until the front program closes its end of the socket.
#include "serve.h"

#include <cerrno>
#include <csignal>
#include <cstdio>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include "exceptions.h"
#include "link/channel.h"
#include "link/model_messages.h"
#include "model_service.h"
#include "model_session.h"
#include "os/child_program.h"
#include "session_settings.h"

namespace kw::lm_program {
namespace {

struct ServeSettings {
  SessionOptions session;
  int socket = -1;
};

Result<ServeSettings> serve_settings(const Json& value) {
  ServeSettings out;
  KW_TRY(ObjectReader reader, ObjectReader::make(value, ""));
  KW_TRY_STATUS(read_session_options(reader, out.session));
  KW_TRY(out.session.context, reader.integer_or("context", out.session.context));
  KW_TRY(std::int64_t socket, reader.integer("socket"));
  out.socket = static_cast<int>(socket);
  KW_TRY_STATUS(reader.no_other_keys());
  // Without it the descriptor would be another file of this process.
  if (socket < 3 || ::fcntl(out.socket, F_SETFD, FD_CLOEXEC) != 0)
    return fail(ErrorCode::kInvalidArgument, "socket: {} is no descriptor", socket);
  return out;
}

// The front program's first message; kUnavailable when it has ended.
Status take_hello(link::Channel& channel) {
  std::vector<Json> messages;
  while (messages.empty()) {
    pollfd wait{channel.fd(), POLLIN, 0};
    if (::poll(&wait, 1, -1) < 0 && errno != EINTR)
      return fail_errno(errno, "cannot wait for the front program");
    auto received = channel.receive(messages);
    if (!received && messages.empty()) return received;
  }
  KW_TRY(link::FrontMessage first, link::front_message_from_json(messages.front()));
  const auto* hello = std::get_if<link::Hello>(&first);
  if (hello == nullptr || hello->protocol != link::kModelProtocol)
    return fail(ErrorCode::kUnsupported,
                "kernelwright and kernelwright-lm are of different builds: build both from the "
                "same sources");
  return {};
}

link::ModelInfo model_info(const ModelSession& session, const SessionOptions& options) {
  link::ModelInfo out;
  out.family = to_string(session.config().family);
  out.dtype = session.dtype();
  out.device = options.device;
  out.parameters = session.config().parameters();
  out.vocabulary = session.config().vocabulary;
  out.context = session.context();
  out.slots = session.slots();
  return out;
}

Status serve_over(link::Channel& channel, const SessionOptions& options) {
  KW_TRY_STATUS(take_hello(channel));
  KW_TRY(auto session, ModelSession::open(options));
  KW_TRY_STATUS(channel.queue(to_json(
      link::EngineMessage(link::Welcome{link::kModelProtocol, model_info(*session, options)}))));
  ModelService service(*session, channel);
  return service.run();
}

}  // namespace

int serve(const Json& settings) {
  os::continue_with_parent();
  // A cluster's stop reaches every process of a job. The front program finishes the answers under
  // way, and then closes its end.
  std::signal(SIGTERM, SIG_IGN);
  auto read = serve_settings(settings);
  if (!read) {
    fmt::print(stderr, "error: {}\n", read.error().message());
    return exit_code(read.error().code());
  }
  link::Channel channel{os::UniqueFd(read->socket)};
  Status done = without_exceptions([&] { return serve_over(channel, read->session); });
  if (done) return 0;
  // The front program prints it. If it is gone, nobody needs it.
  const Error& error = done.error();
  static_cast<void>(
      channel.queue(to_json(link::EngineMessage(link::Failed{0, error.code(), error.message()}))));
  static_cast<void>(channel.flush());
  return exit_code(error.code());
}

}  // namespace kw::lm_program
