// The log of a command that can be gone on with: a header that says with which settings, then a
// line for each result.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "os/journal.h"

namespace kw::data {

// The message of a command that was interrupted, and can be gone on with.
inline constexpr const char* kInterrupted = "interrupted; the same command with --resume goes on";

// A log of results. A line is synced before append() returns, and only then its result counts. Only
// one thread may use it at a time.
class SessionLog {
 public:
  // The place of a line in the file.
  struct Place {
    std::uint64_t begin = 0;
    std::uint32_t bytes = 0;
  };
  using Visit = std::function<Status(const Json& line, Place place)>;

  // visit is called for every line behind the header that is there; errors get "FILE:LINE" in
  // front. A log with another header is kInvalidArgument; otherwise as os::Journal::open().
  static Result<SessionLog> open(const std::filesystem::path& path, const Json& header,
                                 const Visit& visit);

  Result<Place> append(const Json& line);
  const std::filesystem::path& path() const { return journal_.path(); }

 private:
  SessionLog(os::Journal journal, std::uint64_t end) : journal_(std::move(journal)), end_(end) {}

  os::Journal journal_;
  std::uint64_t end_ = 0;
};

}  // namespace kw::data
