// The fields of each message, each with its key.
#include "gym/messages/checker_messages.h"

#include <utility>

#include "gym/messages/problem_check_json.h"
#include "task/policy_json.h"
#include "text/enum_names.h"

namespace kw::task {

Status read_json(const Json& value, const std::string& where, gym::Reading /*how*/,
                 Signature& out) {
  KW_TRY(out, signature_from_json(value, where));
  return {};
}

}  // namespace kw::task

namespace kw::gym {

namespace {

constexpr auto kProblemKinds = text::enum_names<ProblemKind>({
    {ProblemKind::kDefinition, "definition"},
    {ProblemKind::kModule, "module"},
});
constexpr auto kLanguages = text::enum_names<ExecutorLanguage>({
    {ExecutorLanguage::kCpp, "cpp"},
    {ExecutorLanguage::kPython, "python"},
    {ExecutorLanguage::kPlan, "plan"},
});
constexpr auto kSignals = text::enum_names<Signal>({
    {Signal::kLease, "lease"},
    {Signal::kGranted, "granted"},
    {Signal::kRelease, "release"},
    {Signal::kAnswer, "answer"},
});

}  // namespace

template <>
inline constexpr auto kLastOf<ProblemKind> = ProblemKind::kModule;
template <>
inline constexpr auto kLastOf<ExecutorLanguage> = ExecutorLanguage::kPlan;
template <>
inline constexpr auto kLastOf<task::Distribution> = task::Distribution::kConstant;
template <>
inline constexpr auto kLastOf<task::InputDomain> = task::InputDomain::kFixed;
template <>
inline constexpr auto kLastOf<task::CheckKind> = task::CheckKind::kSampling;
template <>
inline constexpr auto kLastOf<ErrorCode> = ErrorCode::kInternal;

template <typename F, Is<SourceSize> M>
void fields(F& f, M& m) {
  f("path", m.path);
  f("size", m.size);
}

template <typename F, Is<TritonSetup> M>
void fields(F& f, M& m) {
  f("arch", m.arch);
  f("compiled", m.compiled);
  f("configuration", m.configuration);
  f("hide_values", m.hide_values);
  f("drop_stores", m.drop_stores);
  f("poison_masked", m.poison_masked);
}

template <typename F, Is<ExecutorSetup> M>
void fields(F& f, M& m) {
  f("language", m.language);
  f("kind", m.kind);
  f("entry", m.entry);
  f("has_prepare", m.has_prepare);
  f("init_args", m.init_args);
  f("threads", m.threads);
  f("entry_file", m.entry_file);
  f("compilation", m.compilation);
  f.or_null("destination_passing", m.destination_passing);
  f("files", m.files);
  f("triton", m.triton);
  f("device", m.device);
  f("param_seed", m.param_seed);
  f("hand_over_state", m.hand_over_state);
  f("private_inputs", m.private_inputs);
  f("copied_inputs", m.copied_inputs);
}

template <typename F, Is<ExecutorSpec> M>
void fields(F& f, M& m) {
  f("setup", m.setup);
  f("monitor", m.monitor);
}

template <typename F, Is<CustomInputs> M>
void fields(F& f, M& m) {
  f("entry", m.entry);
  f("numbers", m.numbers);
}

template <typename F, Is<OracleSetup> M>
void fields(F& f, M& m) {
  f("kind", m.kind);
  f("entry", m.entry);
  f("threads", m.threads);
  f("device", m.device);
  f("custom_inputs", m.custom_inputs);
}

template <typename F, Is<task::InputPolicy> M>
void fields(F& f, M& m) {
  f("distribution", m.distribution);
  f("low", m.low);
  f("high", m.high);
  f("domain", m.domain);
}

template <typename F, Is<task::OutputPolicy> M>
void fields(F& f, M& m) {
  f("check", m.check);
  f("of", m.of);
  f("axis", m.axis);
  f("largest", m.largest);
  f("reduction_length", m.reduction_length);
}

template <typename F, Is<InputPlan> M>
void fields(F& f, M& m) {
  f("name", m.name);
  f("policy", m.policy);
  f("ordinary", m.ordinary);
  f("fixed", m.fixed);
}

template <typename F, Is<CheckerOptions> M>
void fields(F& f, M& m) {
  f("threads", m.threads);
  f("timeout_seconds", m.timeout_seconds);
  f("timing", m.timing);
  f("timed", m.timed);
  f("hard_inputs", m.hard_inputs);
  f("deterministic", m.deterministic);
  f("disabled", m.disabled);
}

template <typename F, Is<OpenRequest> M>
void fields(F& f, M& m) {
  f("protocol", m.protocol);
  f("kind", m.kind);
  f("admit", m.admit);
  f("judge", m.judge);
  f("oracle_timeout_seconds", m.oracle_timeout_seconds);
  f("signature", m.signature);
  f("inputs", m.inputs);
  f("outputs", m.outputs);
  f("options", m.options);
  f("oracle_setup", m.oracle_setup);
  f("oracle_monitor", m.oracle_monitor);
}

template <typename F, Is<BaselineRequest> M>
void fields(F& f, M& m) {
  f("memory_is_free", m.memory_is_free);
  f("exchanged", m.exchanged);
  f("baseline", m.baseline);
}

template <typename F, Is<MeasuringGoal> M>
void fields(F& f, M& m) {
  f("half_width", m.half_width);
  f("max_seconds", m.max_seconds);
  f("process_pairs", m.process_pairs);
  f("pair", m.pair);
}

template <typename F, Is<JudgeRequest> M>
void fields(F& f, M& m) {
  f("memory_is_free", m.memory_is_free);
  f("resident", m.resident);
  f("goal", m.goal);
  f("candidate", m.candidate);
}

template <typename F, Is<TrialRequest> M>
void fields(F& f, M& m) {
  f("memory_is_free", m.memory_is_free);
  f("resident", m.resident);
  f("candidate", m.candidate);
}

template <typename F, Is<KernelBenchRequest> M>
void fields(F& f, M& m) {
  f("candidate", m.candidate);
}

template <typename F, Is<Opened> M>
void fields(F& f, M& m) {
  f("findings", m.findings);
  f("signature", m.signature);
  f("init_args", m.init_args);
  f("written_inputs", m.written_inputs);
}

template <typename F, Is<BaselineStarted> M>
void fields(F& f, M& m) {
  f("failure", m.failure);
  f("reference_ns", m.reference_ns);
}

template <typename F, Is<KernelBenchTried> M>
void fields(F& f, M& m) {
  f("correctness", m.correctness);
}

template <typename F, Is<Tried> M>
void fields(F& f, M& m) {
  f("outcome", m.outcome);
  f("call_ns", m.call_ns);
}

template <typename F, Is<CheckerFailed> M>
void fields(F& f, M& m) {
  f("code", m.code);
  f("message", m.message);
}

namespace {

// The name of each alternative of a variant, in its order.
constexpr std::array<std::string_view, 5> kRequests = {"open", "baseline", "judge", "kernelbench",
                                                       "trial"};
constexpr std::array<std::string_view, 6> kAnswers = {"opened",      "baseline", "report",
                                                      "kernelbench", "tried",    "failed"};

template <typename Variant, std::size_t N>
Json write_named(const char* key, const std::array<std::string_view, N>& names,
                 const Variant& message) {
  static_assert(std::variant_size_v<Variant> == N);
  Json out = {{key, names[message.index()]}};
  out.update(std::visit([](const auto& m) { return FieldWriter::encode(m); }, message));
  return out;
}

template <typename Variant, std::size_t I = 0, std::size_t N>
Result<Variant> read_named(const std::array<std::string_view, N>& names, const std::string& name,
                           const Json& body) {
  if constexpr (I == N) {
    return fail(ErrorCode::kInvalidArgument, "{}: no such message", printable(name, 40));
  } else {
    if (name != names[I]) return read_named<Variant, I + 1>(names, name, body);
    KW_TRY(auto message, (message_of_json<std::variant_alternative_t<I, Variant>>(body, name)));
    return Variant(std::move(message));
  }
}

// Takes the message's name out of it.
Result<std::string> take_name(Json& value, const char* key) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, ""));
  KW_TRY(std::string name, reader.string(key));
  value.erase(key);
  return name;
}

}  // namespace

std::string_view to_string(ProblemKind kind) {
  return kProblemKinds.name(kind);
}
std::string_view to_string(ExecutorLanguage language) {
  return kLanguages.name(language);
}
std::string_view to_string(Signal signal) {
  return kSignals.name(signal);
}

Json to_json(const ExecutorSetup& setup) {
  return json_of_fields(setup);
}
Json to_json(const OracleSetup& setup) {
  return json_of_fields(setup);
}

Json to_json(Signal signal) {
  return {{"op", to_string(signal)}};
}

Result<Signal> signal_from_json(const Json& value) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, ""));
  KW_TRY(std::string name, reader.string("op"));
  KW_TRY_STATUS(reader.no_other_keys());
  if (auto signal = kSignals.value(name)) return *signal;
  return fail(ErrorCode::kInvalidArgument, "{}: no such signal", printable(name, 40));
}

Json to_json(const CheckerRequest& request) {
  return write_named("op", kRequests, request);
}
Json to_json(const CheckerAnswer& answer) {
  return write_named("type", kAnswers, answer);
}

Result<CheckerRequest> checker_request_from_json(Json value) {
  KW_TRY(std::string name, take_name(value, "op"));
  value.erase("fds");
  KW_TRY(auto request, read_named<CheckerRequest>(kRequests, name, value));
  if (const auto* open = std::get_if<OpenRequest>(&request);
      open != nullptr && open->protocol != kCheckerProtocol) {
    return fail(ErrorCode::kInvalidArgument, "open.protocol: this checker speaks {}, not {}",
                kCheckerProtocol, open->protocol);
  }
  return request;
}

Result<CheckerAnswer> checker_answer_from_json(Json value) {
  KW_TRY(std::string name, take_name(value, "type"));
  return read_named<CheckerAnswer>(kAnswers, name, value);
}

}  // namespace kw::gym
