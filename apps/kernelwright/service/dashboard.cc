#include "kernelwright/service/dashboard.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "gym/version.h"
#include "kernelwright/service/dashboard_files.h"
#include "net/replies.h"
#include "report/page_style.h"

namespace kw::front {
namespace {

constexpr std::array<std::string_view, 3> kPaths = {"/", "/dashboard.css", "/dashboard.js"};

// Nothing from elsewhere, nothing written into the page's own text, no frame around it.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

net::Response file(const char* type, std::string text) {
  net::Response out;
  out.headers.add("Content-Type", std::string(type) + "; charset=utf-8");
  out.headers.add("Content-Security-Policy", kPolicy);
  out.headers.add("X-Content-Type-Options", "nosniff");
  out.headers.add("Referrer-Policy", "no-referrer");
  out.headers.add("Cross-Origin-Resource-Policy", "same-origin");
  out.headers.add("Cross-Origin-Opener-Policy", "same-origin");
  out.headers.add("Cache-Control", "no-cache");
  out.body = std::move(text);
  return out;
}

net::Response front_page(const net::Request& request, const std::string& timestamp) {
  const std::string* accept = request.headers.find("Accept");
  const bool is_browser = accept != nullptr && accept->find("text/html") != std::string::npos;
  net::Response out = is_browser ? file("text/html", kDashboardPage)
                                 : net::json_response({{"name", "kernelwright"},
                                                       {"version", KW_VERSION},
                                                       {"gym_version", gym::kGymVersion},
                                                       {"description", "a queue of judgements"},
                                                       {"api", "/v1"},
                                                       {"timestamp", timestamp}});
  out.headers.add("Vary", "Accept");
  return out;
}

}  // namespace

bool is_of_dashboard(const net::Request& request) {
  if (request.method != "GET" && request.method != "HEAD") return false;
  for (std::string_view path : kPaths)
    if (request.path == path) return true;
  return false;
}

void add_dashboard(net::Router& router, std::function<std::string()> timestamp) {
  router.add(
      "GET", kPaths[0],
      [timestamp = std::move(timestamp)](const net::Request& request, net::Responder responder) {
        responder.send(front_page(request, timestamp()));
      });
  router.add("GET", kPaths[1], [](const net::Request&, net::Responder responder) {
    responder.send(file("text/css", std::string(report::kPageStyle) + kDashboardStyle));
  });
  router.add("GET", kPaths[2], [](const net::Request&, net::Responder responder) {
    responder.send(file("text/javascript", kDashboardScript));
  });
}

}  // namespace kw::front
