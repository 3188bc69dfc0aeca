// Tokens: who may call a server, and as whom. The file has hashes alone (docs/service.md).
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/http_message.h"

namespace kw::service {

enum class Scope : std::uint8_t { kSubmit = 1, kRead = 2, kWork = 4 };

// The one who calls.
struct Identity {
  std::string token = {};      // the first 8 digits of its hash, for the audit log
  std::string tenant = {};     // sees its own tasks alone; empty: sees all, and may name any tenant
  unsigned scopes = 7;         // of Scope
  std::size_t most_open = 0;   // tasks of the tenant that are not final; 0: no limit of its own
  std::size_t most_bytes = 0;  // of requests of such tasks; 0: no limit of its own
  std::int64_t most_seconds = 0;  // of judging in an hour; 0: no limit of its own
  int weight = 1;                 // its share of the judging beside other tenants

  bool may(Scope scope) const { return (scopes & static_cast<unsigned>(scope)) != 0; }
};

// Not changed after it is made: may be used from all threads.
class Tokens {
 public:
  using Time = std::chrono::system_clock::time_point;

  // Reads a file's lines. kInvalidArgument names the line.
  static Result<Tokens> parse(std::string_view text);
  // kPermissionDenied when others than the owner may read the file.
  static Result<Tokens> from_file(const std::filesystem::path& path);

  // kPermissionDenied for a request without a token, and for one that is unknown or has expired.
  Result<Identity> identity(const net::Request& request, Time now) const;

 private:
  struct Entry {
    std::string digest;
    Identity identity;
    Time expires = Time::max();
  };
  static Result<Entry> entry_of(std::string_view line);

  std::vector<Entry> entries_;
};

}  // namespace kw::service
