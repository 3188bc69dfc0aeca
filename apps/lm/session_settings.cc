#include "session_settings.h"

namespace kw::lm_program {

Status read_session_options(ObjectReader& reader, SessionOptions& options) {
  constexpr std::int64_t kMaxThreads = 1024;
  KW_TRY(options.model, reader.string("model"));
  KW_TRY(options.device, reader.string_or("device", options.device));
  KW_TRY(options.dtype, reader.string_or("dtype", options.dtype));
  KW_TRY(options.matmuls, reader.string_or("matmuls", options.matmuls));
  KW_TRY(std::int64_t threads, reader.integer_or("threads", options.threads));
  if (threads < 0 || threads > kMaxThreads)
    return fail(ErrorCode::kInvalidArgument, "{}: expected 0 to {}, not {}", reader.path("threads"),
                kMaxThreads, threads);
  options.threads = static_cast<int>(threads);
  KW_TRY(options.slots, reader.integer_or("slots", options.slots));
  return {};
}

}  // namespace kw::lm_program
