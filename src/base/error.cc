// The one table of error codes.
#include "base/error.h"

#include <array>

namespace kw {
namespace {

struct Row {
  ErrorCode code;
  std::string_view name;
  bool may_retry;
  int exit_code;
};

constexpr std::array<Row, 12> kRows = {{
    {ErrorCode::kInvalidArgument, "invalid_argument", false, 2},
    {ErrorCode::kNotFound, "not_found", false, 2},
    {ErrorCode::kAlreadyExists, "already_exists", false, 2},
    {ErrorCode::kUnsupported, "unsupported", false, 2},
    {ErrorCode::kPermissionDenied, "permission_denied", false, 2},
    {ErrorCode::kResourceExhausted, "resource_exhausted", true, 2},
    {ErrorCode::kDeadlineExceeded, "deadline_exceeded", true, 2},
    {ErrorCode::kCancelled, "cancelled", true, 130},
    {ErrorCode::kUnavailable, "unavailable", true, 2},
    {ErrorCode::kIsolationTooWeak, "isolation_too_weak", false, 3},
    {ErrorCode::kDataLoss, "data_loss", false, 2},
    {ErrorCode::kInternal, "internal", false, 2},
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
bool may_retry(ErrorCode code) {
  return row(code).may_retry;
}
int exit_code(ErrorCode code) {
  return row(code).exit_code;
}

}  // namespace kw
