#include "kernelwright/prompt_machine.h"

#include "base/text.h"
#include "prompt/machines.h"

namespace kw::front {

Result<prompt::HardwareCard> prompt_machine(const std::string& name, task::Language language,
                                            const std::string& target, int threads,
                                            const Services& services) {
  const bool is_gpu = target != "cpu" || language == task::Language::kTriton;
  if (name.empty() && !is_gpu) return services.cpu_card(threads);
  // The names of processors and those of GPUs are found by the language.
  auto card = prompt::machine_named(is_gpu ? task::Language::kTriton : language, name);
  if (card) {
    if (!is_gpu) card->cores = threads;
    return card;
  }
  return tl::unexpected(std::move(card).error().with_context(
      name.empty() ? "the prompt is for a GPU: say with --machine for which" : "--machine"));
}

}  // namespace kw::front
