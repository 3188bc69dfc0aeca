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

Status read_option(ObjectReader& reader, const char* key, Baseline& out,
                   const task::CandidateReader& read_baseline) {
  const Json* value = reader.find(key);
  if (value == nullptr) return {};
  if (value->is_string()) {
    if (const auto known = compilation_from_string(value->get_ref<const std::string&>())) {
      out = *known;
      return {};
    }
  }
  if (!value->is_object())
    return fail(ErrorCode::kInvalidArgument,
                "{}: expected \"eager\", \"compile\", \"max-autotune\" or a candidate",
                reader.path(key));
  KW_TRY(out, read_baseline(*value, reader.path(key)));
  return {};
}
template <typename T>
Status read_option(ObjectReader& reader, const char* key, T& out, const task::CandidateReader&) {
  return read_setting(reader, key, out);
}

}  // namespace

std::string name_of(const Baseline& baseline) {
  if (const auto compilation = compilation_of(baseline))
    return std::string(to_string(*compilation));
  return std::get<task::Candidate>(baseline).name;
}

std::optional<Compilation> compilation_of(const Baseline& baseline) {
  const auto* compilation = std::get_if<Compilation>(&baseline);
  return compilation == nullptr ? std::nullopt : std::optional(*compilation);
}

bool is_compiled(const Baseline& baseline) {
  return compilation_of(baseline).value_or(Compilation::kNone) != Compilation::kNone;
}

Result<Baseline> baseline_from_word(const std::string& word) {
  if (const auto compilation = compilation_from_string(word)) return *compilation;
  if (word.empty())
    return fail(ErrorCode::kInvalidArgument,
                "empty; expected eager, compile, max-autotune or a file");
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

Result<EvalOptions> eval_options_from_json(const Json& value, const std::string& where,
                                           const task::CandidateReader& read_baseline) {
  EvalOptions out;
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  Status status;
  describe(out, [&](const char* key, auto& member, const EvalOptionFacts&) {
    if (status) status = read_option(reader, key, member, read_baseline);
  });
  if (!status) return tl::unexpected(std::move(status).error());
  KW_TRY_STATUS(reader.no_other_keys());
  KW_TRY_STATUS(check(out, OptionNames::kKeys, where));
  return out;
}

Status check(const EvalOptions& options, OptionNames names, const std::string& where) {
  if (options.gpu_context != "confirm" && options.gpu_context != "resident" &&
      options.gpu_context != "fresh")
    return fail(ErrorCode::kInvalidArgument, "{}: expected confirm, resident or fresh",
                names == OptionNames::kFlags ? "--gpu-context"
                : where.empty()              ? "gpu_context"
                                             : where + ".gpu_context");
  for (const std::string& rival : options.rivals) {
    if (!compilation_from_string(rival))
      return fail(ErrorCode::kInvalidArgument,
                  "{}: \"{}\": expected eager, compile or max-autotune",
                  names == OptionNames::kFlags ? "--rival"
                  : where.empty()              ? "rivals"
                                               : where + ".rivals",
                  printable(rival, 40));
  }
  return check_ranges(options, names, where);
}

}  // namespace kw::gym
