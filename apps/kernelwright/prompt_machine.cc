#include "kernelwright/prompt_machine.h"

#include "base/text.h"
#include "prompt/machines.h"
#include "task/target.h"

namespace kw::front {

Result<std::optional<prompt::HardwareCard>> prompt_machine(const prompt::Template& chosen,
                                                           const std::string& name,
                                                           task::Language language,
                                                           task::Target target, int threads,
                                                           const Services& services) {
  if (!chosen.hardware) {
    if (name.empty()) return std::nullopt;
    return fail(ErrorCode::kInvalidArgument,
                "--machine: the template {} tells nothing of a machine; hardware and full do",
                chosen.name);
  }
  const bool is_gpu = task::workload_target(language, target) != task::Target::kCpu;
  if (name.empty() && !is_gpu) return services.cpu_card(threads);
  auto card =
      prompt::machine_named(is_gpu ? prompt::known_gpus() : prompt::known_processors(), name);
  if (!card)
    return tl::unexpected(std::move(card).error().with_context(
        name.empty() ? "the prompt is for a GPU: say with --machine for which" : "--machine"));
  if (!is_gpu) card->cores = threads;
  return std::move(*card);
}

}  // namespace kw::front
