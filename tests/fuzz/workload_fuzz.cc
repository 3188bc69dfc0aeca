// workloads.jsonl of a fixed definition: what is accepted is written and read again with the same
// bytes, and has an interface whose sizes are bounded.
#include "fixed_definition.h"
#include "fuzz.h"
#include "task/signature.h"
#include "task/workload_json.h"

namespace kw::fuzz {

KW_FUZZ(workload, text) {
  const task::Definition& definition = fixed_definition();
  auto workloads = task::workloads_from_jsonl(text, definition, "workloads.jsonl");
  if (!accepted(workloads)) {
    KW_CHECK(workloads.error().message().starts_with("workloads.jsonl"));
    return;
  }
  std::string written = task::workloads_to_jsonl(*workloads, definition.name);
  auto again = task::workloads_from_jsonl(written, definition, "workloads.jsonl");
  KW_CHECK(again);
  KW_CHECK(task::workloads_to_jsonl(*again, definition.name) == written);
  for (const task::Workload& workload : *workloads) {
    auto signature = task::signature_of(definition, workload);
    if (!accepted(signature)) continue;
    for (const task::Argument& output : signature->outputs)
      KW_CHECK(output.bytes() <= static_cast<std::size_t>(task::kMaxTensorBytes));
  }
}

}  // namespace kw::fuzz
