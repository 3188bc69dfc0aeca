// API keys: "Authorization: Bearer KEY" or "X-Api-Key: KEY", compared in constant time.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/http_message.h"

namespace kw::net {

// Takes the same time wherever the first difference is; the lengths are not hidden.
bool constant_time_equal(std::string_view a, std::string_view b);

// The key that a request presents, or nothing.
std::optional<std::string_view> presented_key(const Request& request);

// A file of keys. kPermissionDenied when others than the owner may read it.
Result<std::string> read_key_file(const std::filesystem::path& path);

// Keeps hashes only. Not changed after it is made: may be used from all threads.
class ApiKeys {
 public:
  static constexpr std::size_t kShortestKey = 16;

  // kInvalidArgument without keys, or when one is shorter than kShortestKey or not visible ASCII.
  // Messages do not repeat keys.
  static Result<ApiKeys> make(const std::vector<std::string>& keys);
  // One key a line; empty lines and lines that begin with '#' are skipped. kPermissionDenied when
  // others than the owner may read the file.
  static Result<ApiKeys> from_file(const std::filesystem::path& path);

  // Every key is compared, whichever fits.
  bool accepts(std::string_view key) const;
  // Nothing when the request has a good key, else the 401 to send. For ServerOptions::gate.
  std::optional<Response> refuse(const Request& request) const;

 private:
  std::vector<std::string> digests_;
};

}  // namespace kw::net
