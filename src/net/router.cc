// Routes are tried one after the other: a server has a few dozen.
#include "net/router.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "net/url.h"

namespace kw::net {
namespace {

bool is_parameter(std::string_view segment) {
  return segment.starts_with('{');
}
bool is_rest(std::string_view segment) {
  return segment.ends_with("...}");
}

std::string_view parameter_name(std::string_view segment) {
  segment.remove_prefix(1);
  segment.remove_suffix(is_rest(segment) ? 4 : 1);
  return segment;
}

void check_pattern(const std::vector<std::string>& segments) {
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::string& segment = segments[i];
    if (!is_parameter(segment)) {
      KW_CHECK(segment.find_first_of("{}%?#") == std::string::npos);
      continue;
    }
    KW_CHECK(segment.ends_with('}'));
    KW_CHECK(!is_rest(segment) || i + 1 == segments.size());
    KW_CHECK(is_token(parameter_name(segment)));
  }
}

std::string decoded(std::string_view text) {
  return percent_decode(text).value_or(std::string(text));
}

// The parameters, or nothing when the path does not fit.
std::optional<std::vector<Request::Parameter>> fit(const std::vector<std::string>& pattern,
                                                   std::string_view path) {
  std::vector<Request::Parameter> out;
  path.remove_prefix(1);  // '/'
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    bool last = i + 1 == pattern.size();
    if (is_rest(pattern[i])) {
      out.push_back({std::string(parameter_name(pattern[i])), decoded(path)});
      return out;
    }
    std::size_t slash = path.find('/');
    if (last != (slash == std::string_view::npos)) return std::nullopt;
    std::string_view segment = path.substr(0, slash);
    if (!last) path.remove_prefix(slash + 1);
    if (!is_parameter(pattern[i])) {
      if (decoded(segment) != pattern[i]) return std::nullopt;
    } else if (segment.empty()) {
      return std::nullopt;
    } else {
      out.push_back({std::string(parameter_name(pattern[i])), decoded(segment)});
    }
  }
  return out;
}

// Fixed before parameter before rest, at the first segment where they differ.
bool more_specific(const Route& a, const Route& b) {
  auto rank = [](const std::string& segment) {
    if (!is_parameter(segment)) return 0;
    return is_rest(segment) ? 2 : 1;
  };
  return std::lexicographical_compare(
      a.segments.begin(), a.segments.end(), b.segments.begin(), b.segments.end(),
      [&](const std::string& x, const std::string& y) { return rank(x) < rank(y); });
}

}  // namespace

void Router::add(std::string_view method, std::string_view pattern, Handler handler,
                 RouteOptions options) {
  KW_CHECK(is_token(method) && pattern.starts_with('/') && handler);
  for (const Route& route : routes_) KW_CHECK(route.method != method || route.pattern != pattern);
  Route route{std::string(method), std::string(pattern), std::move(handler), options,
              split(pattern.substr(1), '/')};
  check_pattern(route.segments);
  auto at = std::upper_bound(routes_.begin(), routes_.end(), route, more_specific);
  routes_.insert(at, std::move(route));
}

Router::Match Router::match(std::string_view method, std::string_view path) const {
  Match match;
  std::vector<std::string> allowed;
  auto allow = [&](std::string_view name) {
    if (std::find(allowed.begin(), allowed.end(), name) == allowed.end())
      allowed.emplace_back(name);
  };
  if (!path.starts_with('/')) return match;
  for (const Route& route : routes_) {
    auto parameters = fit(route.segments, path);
    if (!parameters) continue;
    allow(route.method);
    if (route.method == "GET") allow("HEAD");
    bool fits = route.method == method || (method == "HEAD" && route.method == "GET");
    if (!fits || match.route != nullptr) continue;
    match.route = &route;
    match.parameters = std::move(*parameters);
  }
  if (!allowed.empty()) allow("OPTIONS");
  match.allow = join(allowed, ", ");
  return match;
}

}  // namespace kw::net
