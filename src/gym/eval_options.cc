// Options of an evaluation in JSON, and a request's canonical hash.
#include "base/hash.h"
#include "gym/gym.h"

namespace kw::gym {

Json to_json(const EvalOptions& o) {
  return {{"target", o.target},
          {"baseline", o.baseline},
          {"precise", o.precise},
          {"half_width_percent", o.half_width_percent},
          {"process_pairs", o.process_pairs},
          {"threads", o.threads},
          {"max_seconds", o.max_seconds},
          {"timeout_seconds", o.timeout_seconds},
          {"memory_bytes", o.memory_bytes},
          {"timing", o.timing},
          {"store_evidence", o.store_evidence},
          {"disabled", o.disabled}};
}

Result<EvalOptions> eval_options_from_json(const Json& value, const std::string& where) {
  EvalOptions o;
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  KW_TRY(o.target, reader.string_or("target", o.target));
  KW_TRY(o.baseline, reader.string_or("baseline", o.baseline));
  KW_TRY(o.precise, reader.boolean_or("precise", o.precise));
  KW_TRY(o.half_width_percent, reader.number_or("half_width_percent", o.half_width_percent));
  KW_TRY(std::int64_t pairs, reader.integer_or("process_pairs", o.process_pairs));
  if (pairs < 0 || pairs > kMostProcessPairs)
    return fail(ErrorCode::kInvalidArgument, "{}: {} is not from 0 to {}",
                reader.path("process_pairs"), pairs, kMostProcessPairs);
  o.process_pairs = static_cast<int>(pairs);
  KW_TRY(std::int64_t threads, reader.integer_or("threads", o.threads));
  if (threads < 1 || threads > INT32_MAX)
    return fail(ErrorCode::kInvalidArgument, "{}: {} is no number of threads",
                reader.path("threads"), threads);
  o.threads = static_cast<int>(threads);
  KW_TRY(o.max_seconds, reader.number_or("max_seconds", o.max_seconds));
  KW_TRY(o.timeout_seconds, reader.number_or("timeout_seconds", o.timeout_seconds));
  KW_TRY(std::int64_t memory, reader.integer_or("memory_bytes", 0));
  if (memory < 0)
    return fail(ErrorCode::kInvalidArgument, "{}: expected at least 0, found {}",
                reader.path("memory_bytes"), memory);
  o.memory_bytes = static_cast<std::uint64_t>(memory);
  KW_TRY(o.timing, reader.boolean_or("timing", o.timing));
  KW_TRY(o.store_evidence, reader.boolean_or("store_evidence", o.store_evidence));
  KW_TRY(o.disabled, reader.strings_or_empty("disabled"));
  KW_TRY_STATUS(reader.no_other_keys());
  return o;
}

std::string EvalRequest::hash() const {
  return sha256_hex(canonical_json({{"problem", problem.hash},
                                    {"candidate", candidate.hash},
                                    {"options", to_json(options)},
                                    {"gym_version", kGymVersion}}));
}

}  // namespace kw::gym
