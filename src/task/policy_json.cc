// Policy codec.
#include "task/policy_json.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "task/target.h"
#include "text/enum_names.h"
#include "text/names.h"

namespace kw::task {
namespace {

constexpr auto kLibraries = text::enum_names<Library>({
    {Library::kKernelOnly, "kernel_only"},
    {Library::kLibrariesAllowed, "libraries_allowed"},
    {Library::kAnything, "anything"},
});

constexpr auto kChecks = text::enum_names<CheckKind>({
    {CheckKind::kValues, "values"},
    {CheckKind::kExact, "exact"},
    {CheckKind::kArgmaxOf, "argmax_of"},
    {CheckKind::kTopkOf, "topk_of"},
    {CheckKind::kSet, "set"},
    {CheckKind::kSampling, "sampling"},
});

constexpr auto kDistributions = text::enum_names<Distribution>({
    {Distribution::kDefault, "default"},
    {Distribution::kNormal, "normal"},
    {Distribution::kUniform, "uniform"},
    {Distribution::kIntegers, "integers"},
    {Distribution::kSpikes, "spikes"},
    {Distribution::kOneHot, "one_hot"},
    {Distribution::kWideRange, "wide_range"},
    {Distribution::kProbabilities, "probabilities"},
    {Distribution::kPermutation, "permutation"},
    {Distribution::kConstant, "constant"},
});

constexpr auto kDomains = text::enum_names<InputDomain>({
    {InputDomain::kAny, "any"},
    {InputDomain::kPositive, "positive"},
    {InputDomain::kOwn, "own"},
    {InputDomain::kFixed, "fixed"},
});

template <typename Enum, std::size_t N>
Result<Enum> enumerator(ObjectReader& reader, std::string_view key,
                        const text::EnumNames<Enum, N>& names, Enum fallback) {
  if (reader.find(key) == nullptr) return fallback;
  KW_TRY(std::string text, reader.string(key));
  if (auto value = names.value(text)) return *value;
  return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is not one of {}{}", reader.path(key),
              printable(text, 60), join(names.names(), ", "),
              text::suggestion(text, names.names()));
}

// Calls read(name, value, where) for each member of the object under key, if it is there.
template <typename Read>
Status each_member(ObjectReader& reader, std::string_view key, Read read) {
  const Json* value = reader.find(key);
  if (value == nullptr) return {};
  KW_TRY(ObjectReader object, ObjectReader::make(*value, reader.path(key)));
  for (const auto& [name, item] : value->items())
    KW_TRY_STATUS(read(name, item, object.path(printable(name, 80))));
  return {};
}

Result<std::optional<double>> bound(ObjectReader& reader, std::string_view key) {
  std::optional<double> out;
  if (reader.find(key) == nullptr) return out;
  KW_TRY(out, reader.number(key));
  if (!std::isfinite(*out))
    return fail(ErrorCode::kInvalidArgument, "{}: must be finite", reader.path(key));
  return out;
}

Result<InputPolicy> input_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  InputPolicy out;
  KW_TRY(out.distribution, enumerator(reader, "distribution", kDistributions, out.distribution));
  KW_TRY(out.low, bound(reader, "low"));
  KW_TRY(out.high, bound(reader, "high"));
  if (reader.find("domain") != nullptr) {
    KW_TRY(out.domain, enumerator(reader, "domain", kDomains, InputDomain::kAny));
  }
  KW_TRY_STATUS(reader.no_other_keys());
  bool is_range = out.distribution == Distribution::kUniform ||
                  out.distribution == Distribution::kIntegers ||
                  out.distribution == Distribution::kWideRange;
  if (is_range && out.low && out.high && *out.low > *out.high) {
    return fail(ErrorCode::kInvalidArgument, "{}: low is above high", where);
  }
  return out;
}

Result<OutputPolicy> output_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  OutputPolicy out;
  KW_TRY(out.check, enumerator(reader, "check", kChecks, out.check));
  KW_TRY(out.of, reader.string_or("of", ""));
  KW_TRY(out.axis, reader.integer_or("axis", out.axis));
  KW_TRY(out.largest, reader.boolean_or("largest", out.largest));
  KW_TRY(out.reduction_length, reader.integer_or("reduction_length", 0));
  KW_TRY_STATUS(reader.no_other_keys());
  if (out.reduction_length < 0) {
    return fail(ErrorCode::kInvalidArgument, "{}: expected at least 0",
                reader.path("reduction_length"));
  }
  bool points = out.check == CheckKind::kArgmaxOf || out.check == CheckKind::kTopkOf ||
                out.check == CheckKind::kSampling;
  if (points && out.of.empty()) {
    return fail(ErrorCode::kInvalidArgument, "{}: missing (the tensor that the indices point into)",
                reader.path("of"));
  }
  if (!points && !out.of.empty()) {
    return fail(ErrorCode::kInvalidArgument, "{}: only for argmax_of, topk_of and sampling",
                reader.path("of"));
  }
  return out;
}

Status inputs_from_json(ObjectReader& reader, std::map<std::string, InputPolicy>& out) {
  return each_member(
      reader, "inputs",
      [&](const std::string& name, const Json& item, const std::string& where) -> Status {
        KW_TRY(out[name], input_from_json(item, where));
        return {};
      });
}

Result<WorkloadPolicy> workload_policy_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  WorkloadPolicy out;
  if (reader.find("targets") != nullptr) {
    KW_TRY(const std::vector<std::string> names, reader.strings_or_empty("targets"));
    if (names.empty())
      return fail(ErrorCode::kInvalidArgument, "{}: empty", reader.path("targets"));
    auto targets = parse_targets(names);
    if (!targets)
      return tl::unexpected(std::move(targets).error().with_context(reader.path("targets")));
    out.targets = *std::move(targets);
  }
  KW_TRY(out.label, reader.string_or("label", ""));
  KW_TRY(out.timed, reader.boolean_or("timed", true));
  KW_TRY_STATUS(inputs_from_json(reader, out.inputs));
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

Json to_json(const std::map<std::string, InputPolicy>& inputs) {
  Json out = Json::object();
  for (const auto& [name, input] : inputs) {
    Json item = {{"distribution", kDistributions.name(input.distribution)}};
    if (input.low) item["low"] = *input.low;
    if (input.high) item["high"] = *input.high;
    if (input.domain) item["domain"] = kDomains.name(*input.domain);
    out[name] = std::move(item);
  }
  return out;
}

Json to_json(const OutputPolicy& output) {
  const OutputPolicy defaults;
  Json out = {{"check", kChecks.name(output.check)}};
  if (!output.of.empty()) out["of"] = output.of;
  if (output.axis != defaults.axis) out["axis"] = output.axis;
  if (output.largest != defaults.largest) out["largest"] = output.largest;
  if (output.reduction_length != 0) out["reduction_length"] = output.reduction_length;
  return out;
}

Json to_json(const WorkloadPolicy& workload) {
  Json out = {{"targets", workload.targets}};
  if (!workload.label.empty()) out["label"] = workload.label;
  if (!workload.timed) out["timed"] = false;
  if (!workload.inputs.empty()) out["inputs"] = to_json(workload.inputs);
  return out;
}

std::vector<std::string> names_of(const std::vector<TensorSpec>& tensors) {
  std::vector<std::string> out;
  for (const TensorSpec& tensor : tensors) out.push_back(tensor.name);
  return out;
}

Status known_name(const std::string& name, const std::vector<std::string>& known,
                  std::string_view what, const std::string& where) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return {};
  return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is not {}{}", where, printable(name, 80),
              what, text::suggestion(name, known));
}

Status check_output(const std::string& name, const OutputPolicy& output,
                    const Definition& definition) {
  if (output.of.empty()) return {};
  std::vector<TensorSpec> tensors = definition.inputs;
  tensors.insert(tensors.end(), definition.outputs.begin(), definition.outputs.end());
  std::string where = "outputs." + name;
  KW_TRY_STATUS(
      known_name(output.of, names_of(tensors), "a tensor of the definition", where + ".of"));
  auto pointed = std::find_if(tensors.begin(), tensors.end(),
                              [&](const TensorSpec& t) { return t.name == output.of; });
  const auto& shape = pointed->shape;
  auto rank = static_cast<std::int64_t>(shape ? shape->size() : 0);
  if (output.axis < -rank || output.axis >= rank) {
    return fail(ErrorCode::kInvalidArgument, "{}.axis: {} is outside \"{}\", which has {} axes",
                where, output.axis, output.of, rank);
  }
  return {};
}

}  // namespace

std::string_view to_string(CheckKind check) {
  return kChecks.name(check);
}
std::string_view to_string(Distribution distribution) {
  return kDistributions.name(distribution);
}

std::string_view to_string(InputDomain domain) {
  return kDomains.name(domain);
}

InputDomain domain_of(const InputPolicy& policy) {
  if (policy.domain) return *policy.domain;
  switch (policy.distribution) {
    case Distribution::kUniform:
    case Distribution::kIntegers:
      return InputDomain::kOwn;
    case Distribution::kProbabilities:
    case Distribution::kPermutation:
    case Distribution::kConstant:
      return InputDomain::kFixed;
    default:
      return InputDomain::kAny;
  }
}

std::string_view to_string(Library library) {
  return kLibraries.name(library);
}

Json to_json(const Policy& policy) {
  Json out = {{"schema", 1}};
  if (!policy.family.empty()) out["family"] = policy.family;
  if (policy.library != Library::kLibrariesAllowed)
    out["library"] = kLibraries.name(policy.library);
  if (policy.any_shape) out["any_shape"] = true;
  if (policy.deterministic) out["deterministic"] = true;
  if (!policy.statics.empty()) out["static"] = policy.statics;
  if (policy.state_checked) out["state"] = "checked";
  for (const auto& [name, output] : policy.outputs) out["outputs"][name] = to_json(output);
  if (!policy.inputs.empty()) out["inputs"] = to_json(policy.inputs);
  for (const auto& [uuid, workload] : policy.workloads) out["workloads"][uuid] = to_json(workload);
  return out;
}

Result<Policy> policy_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  Policy out;
  KW_TRY(std::int64_t schema, reader.integer("schema"));
  if (schema != 1)
    return fail(ErrorCode::kInvalidArgument, "{}: expected 1, found {}", reader.path("schema"),
                schema);
  KW_TRY(out.family, reader.string_or("family", ""));
  KW_TRY(out.library, enumerator(reader, "library", kLibraries, out.library));
  KW_TRY(out.any_shape, reader.boolean_or("any_shape", false));
  KW_TRY(out.deterministic, reader.boolean_or("deterministic", false));
  KW_TRY(out.statics, reader.strings_or_empty("static"));
  KW_TRY(std::string state, reader.string_or("state", ""));
  if (!state.empty() && state != "checked") {
    return fail(ErrorCode::kInvalidArgument,
                "{}: expected \"checked\" or no such key, found \"{}\"", reader.path("state"),
                printable(state, 60));
  }
  out.state_checked = state == "checked";
  KW_TRY_STATUS(
      each_member(reader, "outputs",
                  [&](const std::string& name, const Json& item, const std::string& at) -> Status {
                    KW_TRY(out.outputs[name], output_from_json(item, at));
                    return {};
                  }));
  KW_TRY_STATUS(inputs_from_json(reader, out.inputs));
  KW_TRY_STATUS(
      each_member(reader, "workloads",
                  [&](const std::string& uuid, const Json& item, const std::string& at) -> Status {
                    KW_TRY(out.workloads[uuid], workload_policy_from_json(item, at));
                    return {};
                  }));
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

Status check_policy(const Policy& policy, const Definition& definition,
                    const std::vector<Workload>& workloads) {
  std::vector<std::string> inputs = names_of(definition.inputs);
  std::vector<std::string> uuids;
  for (const Workload& workload : workloads) uuids.push_back(workload.uuid);
  for (const std::string& name : policy.statics)
    KW_TRY_STATUS(known_name(name, inputs, "an input of the definition", "static"));
  if (!policy.statics.empty() && std::ranges::any_of(workloads, &Workload::has_custom_inputs))
    return fail(ErrorCode::kInvalidArgument, "static: custom inputs are made for each call");
  for (const auto& [name, input] : policy.inputs) {
    KW_TRY_STATUS(known_name(name, inputs, "an input of the definition", "inputs"));
  }
  for (const auto& [name, output] : policy.outputs) {
    KW_TRY_STATUS(
        known_name(name, names_of(definition.outputs), "an output of the definition", "outputs"));
    KW_TRY_STATUS(check_output(name, output, definition));
  }
  for (const auto& [uuid, workload] : policy.workloads) {
    KW_TRY_STATUS(known_name(uuid, uuids, "a uuid in workloads.jsonl", "workloads"));
    for (const auto& [name, input] : workload.inputs) {
      KW_TRY_STATUS(known_name(name, inputs, "an input of the definition",
                               fmt::format("workloads.{}.inputs", uuid)));
    }
  }
  if (policy.state_checked) {
    return fail(ErrorCode::kInvalidArgument, "state: only modules have buffers to check");
  }
  return {};
}

}  // namespace kw::task
