#include "session_settings.h"

namespace kw::lm_program {

Status read_session_options(ObjectReader& reader, SessionOptions& options) {
  constexpr std::int64_t kMostThreads = 1024;
  KW_TRY(options.model, reader.string("model"));
  KW_TRY(options.device, reader.string_or("device", options.device));
  KW_TRY(options.dtype, reader.string_or("dtype", options.dtype));
  KW_TRY(options.products, reader.string_or("products", options.products));
  KW_TRY(std::int64_t threads, reader.integer_or("threads", options.threads));
  if (threads < 0 || threads > kMostThreads)
    return fail(ErrorCode::kInvalidArgument, "{}: expected 0 to {}, not {}", reader.path("threads"),
                kMostThreads, threads);
  options.threads = static_cast<int>(threads);
  KW_TRY(options.slots, reader.integer_or("slots", options.slots));
  return {};
}

}  // namespace kw::lm_program
