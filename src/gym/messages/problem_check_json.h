// The findings of the admission battery as JSON: the checker sends those of a workload, a service
// those of a whole problem.
#pragma once
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "gym/messages/json_fields.h"
#include "gym/problem_check.h"

namespace kw::gym {

template <typename F, Is<AdmissionFindings> M>
void fields(F& f, M& m) {
  f("failure", m.failure);
  f("reference_failed", m.reference_failed);
  f("timed", m.timed);
  f("passing", m.passing);
  f("inert", m.inert);
  f("reference_ms", m.reference_ms);
}

std::string_view to_string(QuarantineCause cause);

Json to_json(const ProblemCheck& check);
// Strict. kInvalidArgument names the key.
Result<ProblemCheck> problem_check_from_json(const Json& value, const std::string& where);

}  // namespace kw::gym
