// Answers that every service needs: JSON, text, errors in the shape of OpenAI's API, and the JSON
// body of a request.
#pragma once
#include <chrono>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "net/http_message.h"

namespace kw::net {

Response json_response(const Json& value, int status = 200);
Response text_response(std::string text, int status = 200);

// {"error": {"message": ..., "type": "invalid_request_error", "param": null, "code": null}}; the
// type follows from the status. Bytes of the message that are not UTF-8 are replaced.
Response error_response(int status, std::string_view message);
// The status is http_status(error.code()), "code" is the code's name. kInternal's message stays
// here (in the log): the client gets "internal error".
Response error_response(const Error& error);
// 429, or another status (503), with Retry-After in whole seconds, rounded up.
Response retry_later(std::chrono::milliseconds after, std::string_view message, int status = 429);

// A value, or the answer that says why there is none.
template <typename T>
class [[nodiscard]] OrResponse : public tl::expected<T, Response> {
 public:
  using tl::expected<T, Response>::expected;
};

// The request's body as JSON: 415 when Content-Type is another than application/json (a missing
// one passes), 400 with line and column when it is not well-formed.
OrResponse<Json> json_body(const Request& request);

}  // namespace kw::net
