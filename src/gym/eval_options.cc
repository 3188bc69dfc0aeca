#include "gym/eval_options.h"

#include <type_traits>

#include "base/settings_json.h"
#include "base/text.h"
#include "task/candidate_source.h"
#include "task/portable_candidate.h"

namespace kw::gym {
namespace {

Json baseline_json(const Baseline& baseline) {
  if (const auto* candidate = std::get_if<task::Candidate>(&baseline))
    return task::portable_candidate_to_json(*candidate);
  return name_of(baseline);
}

template <typename T>
Json value_json(const T& value) {
  if constexpr (std::is_same_v<T, Baseline>) {
    return baseline_json(value);
  } else {
    return value;
  }
}

template <typename Wanted>
Json options_where(const EvalOptions& options, const Wanted& wanted) {
  Json out = Json::object();
  describe(options, [&](const char* key, const auto& value, const EvalOptionFacts& facts) {
    if (wanted(facts)) out[key] = value_json(value);
  });
  return out;
}

Status read_option(ObjectReader& reader, const char* key, Baseline& out) {
  const Json* value = reader.find(key);
  if (value == nullptr || *value == "eager") return {};
  if (*value == "compile") {
    out = CompileBaseline{};
    return {};
  }
  if (!value->is_object())
    return fail(ErrorCode::kInvalidArgument, "{}: expected \"eager\", \"compile\" or a candidate",
                reader.path(key));
  KW_TRY(out, task::portable_candidate_from_json(*value, reader.path(key)));
  return {};
}
template <typename T>
Status read_option(ObjectReader& reader, const char* key, T& out) {
  return read_setting(reader, key, out);
}

}  // namespace

std::string name_of(const Baseline& baseline) {
  if (std::holds_alternative<EagerBaseline>(baseline)) return "eager";
  if (std::holds_alternative<CompileBaseline>(baseline)) return "compile";
  return std::get<task::Candidate>(baseline).name;
}

Result<Baseline> baseline_from_word(const std::string& word) {
  if (word == "eager") return EagerBaseline{};
  if (word == "compile") return CompileBaseline{};
  if (word.empty())
    return fail(ErrorCode::kInvalidArgument, "empty; expected eager, compile or a file");
  KW_TRY(task::Candidate candidate, task::load_candidate(word));
  return candidate;
}

Json to_json(const EvalOptions& options) {
  return options_where(options, [](const EvalOptionFacts&) { return true; });
}

Json verdict_options(const EvalOptions& options) {
  return options_where(options, [](const EvalOptionFacts& facts) { return facts.in_verdict; });
}

Json session_options(const EvalOptions& options) {
  return options_where(options, [](const EvalOptionFacts& facts) {
    return facts.in_verdict && !facts.per_judgement;
  });
}

Result<EvalOptions> eval_options_from_json(const Json& value, const std::string& where) {
  EvalOptions out;
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  Status status;
  describe(out, [&](const char* key, auto& member, const EvalOptionFacts&) {
    if (status) status = read_option(reader, key, member);
  });
  if (!status) return tl::unexpected(std::move(status).error());
  KW_TRY_STATUS(reader.no_other_keys());
  KW_TRY_STATUS(check(out, OptionNames::kKeys, where));
  return out;
}

Status check(const EvalOptions& options, OptionNames names, const std::string& where) {
  if (options.target.empty())
    return fail(ErrorCode::kInvalidArgument, "{}: empty",
                names == OptionNames::kFlags ? "--target"
                : where.empty()              ? "target"
                                             : where + ".target");
  if (options.gpu_context != "confirm" && options.gpu_context != "resident" &&
      options.gpu_context != "fresh")
    return fail(ErrorCode::kInvalidArgument, "{}: expected confirm, resident or fresh",
                names == OptionNames::kFlags ? "--gpu-context"
                : where.empty()              ? "gpu_context"
                                             : where + ".gpu_context");
  return check_ranges(options, names, where);
}

}  // namespace kw::gym
