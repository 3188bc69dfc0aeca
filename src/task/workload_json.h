// FlashInfer-Bench's Workload in JSON: docs/formats/workload.md.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "task/problem.h"

namespace kw::task {

Json to_json(const Workload& workload);
// Form only: uuid, axis values >= 0, input kinds, relative tensor paths. kInvalidArgument names the
// field.
Result<Workload> workload_from_json(const Json& value, const std::string& where);
// Adds the values of axes that are computed from others. kInvalidArgument when one has no value, or
// the workload gives another one.
Status compute_axes(Workload& workload, const Definition& definition, const std::string& where);
// Against the definition, after compute_axes(): a value for exactly the axes without one, a source
// for exactly the inputs, scalars for exactly the host scalars and of their dtype, tensors of a
// possible size, constraints that are simple comparisons of axes hold.
Status check_workload(const Workload& workload, const Definition& definition,
                      const std::string& where);

// The lines of workloads/<op>/<definition>.jsonl: Trace lines without solution and evaluation, or
// bare workloads. Uuids must be unique.
Result<std::vector<Workload>> workloads_from_jsonl(std::string_view text,
                                                   const Definition& definition,
                                                   const std::string& where);
// One Trace line per workload, with a newline each.
std::string workloads_to_jsonl(const std::vector<Workload>& workloads,
                               const std::string& definition_name);

}  // namespace kw::task
