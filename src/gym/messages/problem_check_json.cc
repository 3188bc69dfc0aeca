#include "gym/messages/problem_check_json.h"

#include "text/enum_names.h"

namespace kw::gym {
namespace {

constexpr auto kCauses = text::enum_names<QuarantineCause>({
    {QuarantineCause::kReferenceFailed, "reference_failed"},
    {QuarantineCause::kReferenceUnfit, "unfit_reference"},
    {QuarantineCause::kTrivialCandidate, "trivial_candidate"},
    {QuarantineCause::kInertInput, "inert_input"},
});

}  // namespace

template <>
inline constexpr auto kLastOf<QuarantineCause> = QuarantineCause::kInertInput;

template <typename F, Is<Quarantine> M>
void fields(F& f, M& m) {
  f("cause", m.cause);
  f("names", m.names);
  f("reason", m.reason);
}

template <typename F, Is<ProblemCheck::Workload> M>
void fields(F& f, M& m) {
  f("uuid", m.uuid);
  f("findings", m.findings);
}

template <typename F, Is<ProblemCheck::Target> M>
void fields(F& f, M& m) {
  f("name", m.target);
  f("quarantine", m.quarantine);
}

template <typename F, Is<ProblemCheck> M>
void fields(F& f, M& m) {
  f("workloads", m.workloads);
  f("targets", m.targets);
  f("not_checked", m.not_checked);
}

std::string_view to_string(QuarantineCause cause) {
  return kCauses.name(cause);
}

Json to_json(const ProblemCheck& check) {
  return json_of_fields(check);
}

Result<ProblemCheck> problem_check_from_json(const Json& value, const std::string& where) {
  return message_of_json<ProblemCheck>(value, where);
}

}  // namespace kw::gym
