// Trace lines and KernelBench's eval_results.json: what is accepted is written and read again with
// the same bytes.
#include "fuzz.h"
#include "task/kernelbench_results.h"
#include "task/trace.h"

namespace kw::fuzz {

KW_FUZZ(trace, text) {
  round_trip(
      text, [](const Json& value) { return task::trace_from_json(value, ""); },
      [](const task::Trace& trace) { return to_json(trace); });
  round_trip(
      text, [](const Json& value) { return task::kernelbench_results_from_json(value); },
      [](const task::KernelBenchResults& results) {
        return parse_json(task::kernelbench_results_text(results)).value();
      });
}

}  // namespace kw::fuzz
