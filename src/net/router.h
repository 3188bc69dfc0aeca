// Which handler answers a method and a path.
#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/http_message.h"
#include "net/responder.h"

namespace kw::net {

// Called once a request, when its body has been read, on a thread of the server (ServerOptions::
// handler_threads says which). May keep the Responder and answer later from any thread. What it
// throws becomes a 500.
using Handler = std::function<void(Request request, Responder responder)>;

struct RouteOptions {
  std::size_t max_body_bytes = 0;  // 0: as the server's limit says
  bool needs_length = false;       // 411 without Content-Length and without chunks
};

struct Route {
  std::string method;
  std::string pattern;
  Handler handler;
  RouteOptions options;
  std::vector<std::string> segments;  // of the pattern
};

// Patterns: "/v1/models", "/v1/models/{id}" (one segment, not empty), "/files/{path...}" (the rest,
// at the end only). Fixed segments win over parameters, from left to right. A handler of GET
// answers HEAD too. Filled before the server starts and not changed after: reading needs no lock.
class Router {
 public:
  // A malformed pattern or a second handler for the same is a bug (KW_CHECK).
  void add(std::string_view method, std::string_view pattern, Handler handler,
           RouteOptions options = {});

  struct Match {
    const Route* route = nullptr;  // nullptr: 405 with `allow`, or 404 when that is empty
    std::vector<Request::Parameter> parameters;
    std::string allow;  // "GET, HEAD": what this path answers
  };
  // path: percent-encoded, with valid escapes. Segments are split before they are decoded, so that
  // "%2F" stays within one.
  Match match(std::string_view method, std::string_view path) const;

  const std::vector<Route>& routes() const { return routes_; }

 private:
  std::vector<Route> routes_;
};

}  // namespace kw::net
