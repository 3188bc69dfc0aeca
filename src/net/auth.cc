// Digests are compared, not keys: they have one length.
#include "net/auth.h"

#include <algorithm>

#include <sys/stat.h>

#include "base/hash.h"
#include "base/text.h"
#include "net/replies.h"
#include "os/file.h"

namespace kw::net {

bool constant_time_equal(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  volatile unsigned char difference = 0;  // volatile: no early way out
  for (std::size_t i = 0; i < a.size(); ++i)
    difference = static_cast<unsigned char>(difference | static_cast<unsigned char>(a[i] ^ b[i]));
  return difference == 0;
}

std::optional<std::string_view> presented_key(const Request& request) {
  if (const std::string* value = request.headers.find("Authorization")) {
    std::string_view text = *value;
    constexpr std::string_view kScheme = "Bearer ";
    if (!equals_ignoring_case(text.substr(0, kScheme.size()), kScheme)) return std::nullopt;
    return trim(text.substr(kScheme.size()));
  }
  if (const std::string* value = request.headers.find("X-Api-Key")) return *value;
  return std::nullopt;
}

Result<std::string> read_key_file(const std::filesystem::path& path) {
  KW_TRY(std::string text, os::read_file(path, std::size_t{1} << 20U));
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0)
    return fail_errno(errno, fmt::format("cannot look at {}", path.string()));
  if ((info.st_mode & (S_IRGRP | S_IROTH)) != 0U)
    return fail(ErrorCode::kPermissionDenied,
                "{} may be read by others: chmod 600, because it holds API keys", path.string());
  return text;
}

Result<ApiKeys> ApiKeys::make(const std::vector<std::string>& keys) {
  if (keys.empty()) return fail(ErrorCode::kInvalidArgument, "no API key given");
  ApiKeys out;
  for (const std::string& key : keys) {
    bool visible =
        std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < '\x7f'; });
    if (!visible || key.size() < kShortestKey)
      return fail(ErrorCode::kInvalidArgument,
                  "API key {} of {}: needs {} visible ASCII characters or more",
                  &key - keys.data() + 1, keys.size(), kShortestKey);
    out.digests_.push_back(sha256_hex(key));
  }
  return out;
}

Result<ApiKeys> ApiKeys::from_file(const std::filesystem::path& path) {
  KW_TRY(const std::string text, read_key_file(path));
  std::vector<std::string> keys;
  for (const std::string& line : split(text, '\n')) {
    std::string_view key = trim(line);
    if (!key.empty() && !key.starts_with('#')) keys.emplace_back(key);
  }
  auto made = make(keys);
  if (!made) return tl::unexpected(std::move(made).error().with_context(path.string()));
  return made;
}

bool ApiKeys::accepts(std::string_view key) const {
  std::string digest = sha256_hex(key);
  bool found = false;
  for (const std::string& known : digests_) found = constant_time_equal(digest, known) || found;
  return found;
}

std::optional<Response> ApiKeys::refuse(const Request& request) const {
  auto key = presented_key(request);
  if (key && accepts(*key)) return std::nullopt;
  Response response = error_response(
      401, key ? "the API key is not known" : "no API key: send Authorization: Bearer KEY");
  response.headers.add("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace kw::net
