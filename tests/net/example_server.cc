// A small server for tests/net/http_test.sh and bench/http_rate.py: prints its origin, and runs
// until its standard input ends.
// usage: kw_example_server [HANDLER_THREADS [CERTIFICATE KEY]]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include <fmt/core.h>

#include "net/replies.h"
#include "net/server.h"
#include "net/sse.h"
#include "net/url.h"

namespace kw::net {
namespace {

// GET /events?count=N: N events like those of a completion, then [DONE].
void send_events(const Request& request, Responder responder) {
  int count = 10;
  auto query = parse_query(request.query);
  for (const auto& [name, value] : query.value()) {
    if (name == "count") count = std::stoi(value);  // what is no number: 500
  }
  ResponseStream stream = responder.stream(event_stream_head());
  for (int i = 0; i < count; ++i) {
    std::string data =
        fmt::format(R"({{"index":{},"choices":[{{"delta":{{"content":"token"}}}}]}})", i);
    if (!stream.write(format_event({"", data, ""}))) return;
  }
  stream.write(format_event({"", "[DONE]", ""}));
  stream.finish();
}

Router routes(const MetricRegistry& metrics) {
  Router router;
  router.add("GET", "/hello", [](Request, Responder responder) {
    responder.send(json_response({{"hello", "world"}}));
  });
  router.add("POST", "/echo", [](Request request, Responder responder) {
    Response response;
    response.headers.add("Content-Type", "application/octet-stream");
    response.body = std::move(request.body);
    responder.send(std::move(response));
  });
  router.add("POST", "/json", [](Request request, Responder responder) {
    auto body = json_body(request);
    responder.send(body ? json_response(*body) : std::move(body.error()));
  });
  router.add("GET", "/events", [](Request request, Responder responder) {
    send_events(request, std::move(responder));
  });
  router.add("GET", "/metrics", [&metrics](Request, Responder responder) {
    Response response;
    response.headers.add("Content-Type", kMetricsContentType);
    response.body = metrics.text();
    responder.send(std::move(response));
  });
  return router;
}

int serve(std::span<char*> arguments) {
  MetricRegistry metrics;
  ServerOptions options;
  options.metrics = &metrics;
  options.limits.connections_per_address = 0;
  options.limits.requests_per_connection = 0;
  if (arguments.size() > 1) options.handler_threads = std::atoi(arguments[1]);
  if (arguments.size() > 3) options.tls = TlsFiles{arguments[2], arguments[3]};
  auto server = Server::start(std::move(options), routes(metrics));
  if (!server) {
    fmt::print(stderr, "{}\n", server.error().message());
    return 2;
  }
  fmt::print("{}\n", (*server)->origin());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return (*server)->stop(std::chrono::seconds(5)) ? 0 : 1;
}

}  // namespace
}  // namespace kw::net

int main(int count, char** arguments) {
  return kw::net::serve({arguments, static_cast<std::size_t>(count)});
}
