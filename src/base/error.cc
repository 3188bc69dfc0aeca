// The one table of error codes.
#include "base/error.h"

#include <array>

#include "base/error_names.h"

namespace kw {
namespace {

struct Row {
  ErrorCode code;
  std::string_view name;
  bool may_retry;
  int exit_code;
  int http_status;
};

constexpr std::array<Row, 12> kRows = {{
    {ErrorCode::kInvalidArgument, "invalid_argument", false, 2, 400},
    {ErrorCode::kNotFound, "not_found", false, 2, 404},
    {ErrorCode::kAlreadyExists, "already_exists", false, 2, 409},
    {ErrorCode::kUnsupported, "unsupported", false, 2, 501},
    {ErrorCode::kPermissionDenied, "permission_denied", false, 2, 403},
    {ErrorCode::kResourceExhausted, "resource_exhausted", true, 2, 429},
    {ErrorCode::kDeadlineExceeded, "deadline_exceeded", true, 2, 504},
    {ErrorCode::kCancelled, "cancelled", true, 130, 499},
    {ErrorCode::kUnavailable, "unavailable", true, 2, 503},
    {ErrorCode::kIsolationTooWeak, "isolation_too_weak", false, 3, 503},
    {ErrorCode::kDataLoss, "data_loss", false, 2, 500},
    {ErrorCode::kInternal, "internal", false, 2, 500},
}};

const Row& row(ErrorCode code) {
  for (const Row& r : kRows) {
    if (r.code == code) return r;
  }
  return kRows.back();
}

}  // namespace

std::string_view to_string(ErrorCode code) {
  return row(code).name;
}
std::optional<ErrorCode> error_code_from_string(std::string_view name) {
  for (const Row& r : kRows) {
    if (r.name == name) return r.code;
  }
  return std::nullopt;
}
bool may_retry(ErrorCode code) {
  return row(code).may_retry;
}
int exit_code(ErrorCode code) {
  return row(code).exit_code;
}
int http_status(ErrorCode code) {
  return row(code).http_status;
}

}  // namespace kw
