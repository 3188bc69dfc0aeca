// Theory of operation: the engine is a child process at the other end of a socket (src/link). It is
// started first, and the server listens when the model is loaded. This thread waits for a stop or
// for the engine's end; then the server answers what is under way, the link is closed, which ends
// the engine, and its exit code is read.
#include "kernelwright/model/serve_model.h"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "kernelwright/awaited_error.h"
#include "kernelwright/cli/settings.h"
#include "kernelwright/public_address.h"
#include "net/auth.h"
#include "net/server.h"
#include "openai_server/model_api.h"
#include "os/child_program.h"

namespace kw::front {
namespace {

constexpr std::chrono::seconds kEngineGrace{10};  // to end after the link
constexpr std::chrono::seconds kLostGrace{2};     // to hand out the errors when the engine is gone
constexpr const char* kKeyVariable = "KERNELWRIGHT_API_KEY";

Status check_serving(const ServeModelCommand& command) {
  KW_TRY_STATUS(check_range("--port", command.port, 0, 65535));
  KW_TRY_STATUS(check_range("--slots", command.engine.slots, 1, 4096));
  KW_TRY_STATUS(check_range("--context", command.engine.context, 2, 1 << 24));
  KW_TRY_STATUS(check_range("--threads", command.engine.threads, 0, 1024));
  KW_TRY_STATUS(check_range("--max-waiting", command.max_waiting, 0, 1 << 20));
  KW_TRY_STATUS(check_range("--grace", command.grace_seconds, 0, 86400));
  if (command.tls_certificate.empty() != command.tls_key.empty())
    return fail(ErrorCode::kInvalidArgument, "--tls-certificate and --tls-key go together");
  if (command.self_signed && !command.tls_key.empty())
    return fail(ErrorCode::kInvalidArgument, "--self-signed and --tls-key exclude each other");
  if (command.self_signed && command.address_file.empty())
    return fail(ErrorCode::kInvalidArgument,
                "--self-signed needs --address-file: clients get the certificate from there");
  return {};
}

PublicAddress public_address(const ServeModelCommand& command) {
  return {command.host, command.public_name, command.address_file};
}

using Gate = std::function<std::optional<net::Response>(const net::Request&)>;

Result<Gate> make_gate(const ServeModelCommand& command) {
  std::string key = command.api_key;
  if (key.empty()) {
    const char* value = std::getenv(kKeyVariable);  // NOLINT(concurrency-mt-unsafe): never written
    if (value != nullptr) key = value;
  }
  if (key.empty()) return Gate();
  KW_TRY(net::ApiKeys keys, net::ApiKeys::make({key}));
  return Gate(
      [keys = std::move(keys)](const net::Request& request) -> std::optional<net::Response> {
        if (request.path == "/health") return std::nullopt;  // says nothing about the model
        return keys.refuse(request);
      });
}

Result<net::ServerOptions> server_options(const ServeModelCommand& command,
                                          net::MetricRegistry& metrics) {
  net::ServerOptions out;
  out.address = command.host;
  out.port = static_cast<std::uint16_t>(command.port);
  out.allow_plaintext = command.allow_plaintext;
  if (!command.tls_key.empty()) out.tls = net::TlsFiles{command.tls_certificate, command.tls_key};
  if (command.self_signed) {
    KW_TRY(out.tls_text, own_certificate(public_address(command)));
  }
  KW_TRY(out.gate, make_gate(command));
  out.metrics = &metrics;
  // Many streams come from one machine, or through one proxy. An answer may take as long as its
  // tokens do: who leaves is seen, and who does not read is cut off.
  out.limits.connections_per_address = 0;
  out.limits.request_deadline = std::chrono::milliseconds(0);
  out.limits.send_buffer_bytes = std::size_t{1} << 20U;
  return out;
}

std::string served_name(const ServeModelCommand& command) {
  if (!command.served_model_name.empty()) return command.served_model_name;
  std::error_code ignored;
  const auto whole = std::filesystem::weakly_canonical(command.model, ignored);
  return whole.has_filename() ? whole.filename().string() : command.model;
}

std::vector<std::string> engine_command(const ServeModelCommand& command,
                                        const Services& services) {
  Json settings = {{"model", command.model}, {"socket", os::ChildProgram::kSocket}};
  add_to(settings, command.engine);
  return {(services.program_folder / "kernelwright-lm").string(), "serve", settings.dump()};
}

// The exit of the engine, unless the engine itself has said what went wrong.
Error engine_error(const Error& error, os::ChildProgram& engine) {
  if (error.code() != ErrorCode::kUnavailable) return error;
  return {ErrorCode::kUnavailable,
          fmt::format("kernelwright-lm has ended: {}", engine.wait(kEngineGrace))};
}

void say_what_is_served(const ServeModelCommand& command, const link::ModelInfo& model,
                        const openai_server::ServedModel& served, const net::Server& server,
                        Console& console) {
  console.err(fmt::format(
      "serving {}: {}, {:.1f} million parameters, {} on {}; {} slots, {} tokens of context\n"
      "  curl {}/v1/models\n",
      served.name, model.family, static_cast<double>(model.parameters) / 1e6, model.dtype,
      model.device, model.slots, model.context, server.origin()));
  if (model.context < command.engine.context)
    console.err(fmt::format("the model has {} tokens of context, not {}\n", model.context,
                            command.engine.context));
}

}  // namespace

Result<int> run_serve_model(const ServeModelCommand& command, const Services& services) {
  KW_TRY_STATUS(check_serving(command));
  net::MetricRegistry metrics;
  KW_TRY(net::ServerOptions options, server_options(command, metrics));
  const std::optional<net::TlsText> self_signed = options.tls_text;
  const std::vector<std::string> argv = engine_command(command, services);
  KW_TRY(os::ChildProgram engine, services.start_program(argv));
  AwaitedError engine_end;
  auto client = link::ModelClient::connect(
      engine.take_socket(), [&](const Error& why) { engine_end.set(why); }, services.stop);
  if (!client) return tl::unexpected(engine_error(client.error(), engine));

  const link::ModelInfo model = (*client)->model();
  openai_server::ModelApiOptions api_options;
  api_options.model = {served_name(command), model.context};
  api_options.created =
      std::chrono::duration_cast<std::chrono::seconds>(services.wall_time().time_since_epoch())
          .count();
  api_options.most_waiting = command.max_waiting;
  api_options.now = services.now;
  api_options.wall_time = services.wall_time;
  std::optional<openai_server::ModelApi> api;
  api.emplace(api_options, std::move(*client), metrics);
  KW_TRY(auto server, net::Server::start(std::move(options), api->routes()));
  KW_TRY_STATUS(write_address_file(public_address(command), *server, self_signed));
  say_what_is_served(command, model, api_options.model, *server, services.console);
  KW_TRY_STATUS(services.console.out(server->origin() + "\n"));

  const bool lost = engine_end.wait(services.stop).has_value();
  if (!lost)
    services.console.err(
        fmt::format("stopping: answers under way have {} s; Ctrl-C once more ends at once\n",
                    command.grace_seconds));
  server->stop(lost ? kLostGrace : std::chrono::seconds(command.grace_seconds));
  server.reset();
  // While it stopped it may have been lost as well.
  const std::optional<Error> why = engine_end.wait(services.stop);
  api.reset();
  const std::string ending = engine.wait(kEngineGrace);
  if (!why) return 0;
  return fail(ErrorCode::kUnavailable, "{} (kernelwright-lm: {})", why->message(), ending);
}

}  // namespace kw::front
