// Error: our failure or the world's (never the candidate's fault, which is a Verdict), with a fixed
// code and a message for people.
#pragma once
#include <string>
#include <string_view>
#include <utility>

namespace kw {

// What the caller can do about it decides the code; one table maps it to exit codes, to HTTP
// statuses and to whether a retry can help.
enum class ErrorCode {
  kInvalidArgument,    // the request or a file in it is wrong: fix the input
  kNotFound,           // a file, problem or name does not exist
  kAlreadyExists,      // an output would overwrite something
  kUnsupported,        // this build or machine cannot do it
  kPermissionDenied,   // the operating system refuses
  kResourceExhausted,  // memory, disk, uids, processes
  kDeadlineExceeded,   // one of our own stages took too long
  kCancelled,          // stopped by the user
  kUnavailable,        // a process of ours went away: a retry can help
  kIsolationTooWeak,   // the sandbox level asked for cannot be reached here (exit 3)
  kDataLoss,           // a stored file does not match its hash
  kInternal,           // a bug of ours
};

std::string_view to_string(ErrorCode code);  // "invalid_argument", ...
bool may_retry(ErrorCode code);              // the same request may succeed later without a change
int exit_code(ErrorCode code);               // 2; 3 for kIsolationTooWeak; 130 for kCancelled
int http_status(ErrorCode code);             // 400, 404, 409, 501, 403, 429, 504, 499, 503, 500

class Error {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }

  // Adds what was being done: "reading problems/x/definition.json: " + message.
  Error with_context(std::string_view context) && {
    message_.insert(0, ": ").insert(0, context);
    return std::move(*this);
  }

 private:
  ErrorCode code_;
  std::string message_;
};

}  // namespace kw
