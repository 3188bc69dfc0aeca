#include "openai/attempt.h"

namespace kw::openai {
namespace {

struct Row {
  std::string_view name;
  bool may_retry;
  ErrorCode code;  // of kRefused: by the status
};

// In the order of Outcome.
constexpr std::array<Row, kOutcomes> kRows = {{
    {"answered", false, ErrorCode::kInternal},
    {"rate_limited", true, ErrorCode::kUnavailable},
    {"server_error", true, ErrorCode::kUnavailable},
    {"connection", true, ErrorCode::kUnavailable},
    {"cut", true, ErrorCode::kUnavailable},
    {"timeout", true, ErrorCode::kDeadlineExceeded},
    {"malformed", true, ErrorCode::kUnavailable},
    {"too_large", false, ErrorCode::kResourceExhausted},
    {"refused", false, ErrorCode::kInvalidArgument},
    {"redirected", false, ErrorCode::kInvalidArgument},
    {"untrusted", false, ErrorCode::kPermissionDenied},
    {"cancelled", false, ErrorCode::kCancelled},
}};
static_assert(static_cast<std::size_t>(Outcome::kCancelled) + 1 == kOutcomes);

const Row& row(Outcome outcome) {
  return kRows[static_cast<std::size_t>(outcome)];
}

}  // namespace

std::string_view to_string(Outcome outcome) {
  return row(outcome).name;
}

bool may_retry(Outcome outcome) {
  return row(outcome).may_retry;
}

ErrorCode error_code(Outcome outcome, int http_status) {
  if (outcome != Outcome::kRefused) return row(outcome).code;
  if (http_status == 401 || http_status == 403) return ErrorCode::kPermissionDenied;
  if (http_status == 404) return ErrorCode::kNotFound;
  if (http_status == 429) return ErrorCode::kResourceExhausted;
  return http_status >= 500 ? ErrorCode::kUnsupported : ErrorCode::kInvalidArgument;
}

}  // namespace kw::openai
