#include "openai/endpoint.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "net/url.h"

namespace kw::openai {
namespace {

constexpr std::string_view kChat = "/chat/completions";

// "v1", "v1beta": what a path needs no "/v1" behind.
bool is_version(const std::string& segment) {
  return segment.size() >= 2 && segment[0] == 'v' && is_digit(segment[1]);
}

}  // namespace

Result<Endpoint> read_endpoint(const std::string& base_url) {
  KW_TRY(net::Url url, net::parse_url(base_url));
  if (url.target.find('?') != std::string::npos)
    return fail(ErrorCode::kInvalidArgument, "the base URL of {} has a query", url.authority());
  std::string path = url.target;
  auto drop_slashes = [&path] {
    while (path.ends_with('/')) path.pop_back();
  };
  drop_slashes();
  if (path.ends_with(kChat)) {
    path.resize(path.size() - kChat.size());
    drop_slashes();
  } else {
    const auto segments = split(path, '/');
    if (std::none_of(segments.begin(), segments.end(), is_version)) path += "/v1";
  }
  const std::string base = url.origin() + path;
  return Endpoint{base + std::string(kChat), base + "/models", url.authority(),
                  url.scheme == "https" || net::is_loopback_host(url.host)};
}

}  // namespace kw::openai
