// Bodies of the completion API: refused with a field, or requests that the link carries as they
// are.
#include "fuzz.h"
#include "openai_server/completion_call.h"

namespace kw::fuzz {
namespace {

void check_call(const openai_server::ApiResult<openai_server::CompletionCall>& call) {
  if (!call) {
    const openai_server::ApiFailure& failure = call.error();
    KW_CHECK(failure.status == 400 || failure.status == 404);
    KW_CHECK(!failure.message.empty() && failure.message.size() <= kMaxMessage);
    KW_CHECK(is_valid_utf8(failure.message));
    return;
  }
  KW_CHECK(!call->prompts.empty() && call->n() >= 1 && call->n() <= 128);
  for (const link::GenerateRequest& request : call->prompts) {
    KW_CHECK(request.max_tokens >= 1 && request.temperature >= 0 && request.top_p > 0);
    auto back = link::generate_request_from_json(to_json(request), "request");
    KW_CHECK(back && *back == request);
  }
}

}  // namespace

KW_FUZZ(openai_request, text) {
  auto body = parse_json(text);
  if (!accepted(body)) return;
  const openai_server::ServedModel model{"m", 512};
  check_call(openai_server::read_completion_call(*body, model, 1));
  check_call(openai_server::read_chat_call(*body, model, 1));
}

}  // namespace kw::fuzz
