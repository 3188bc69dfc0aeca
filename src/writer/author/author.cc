#include "writer/author/author.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "writer/author/write_cpp.h"
#include "writer/author/write_triton.h"

namespace kw::writer {

std::vector<std::string_view> strategies(task::Language language) {
  if (language == task::Language::kTriton) return triton_strategy_names();
  if (language == task::Language::kCpp) return cpp_strategy_names();
  return {};
}

std::vector<Choice> choices(task::Language language, std::string_view strategy) {
  if (language == task::Language::kTriton) return triton_choices(strategy);
  if (language == task::Language::kCpp) return cpp_choices(strategy);
  return {};
}

Result<Draft> write_kernel(const Graph& graph, const task::Signature& signature,
                           task::Language language, std::string_view strategy,
                           const Tuning& tuning) {
  if (language == task::Language::kTriton) return write_triton(graph, signature, strategy, tuning);
  if (language == task::Language::kCpp) return write_cpp(graph, signature, strategy, tuning);
  return fail(ErrorCode::kUnsupported, "kernels are written in cpp and triton, not in {}",
              task::to_string(language));
}

std::string answer_text(const Draft& draft) {
  return fmt::format("{}\n\n```{}\n{}```\n", fmt::join(draft.plan, "\n"),
                     draft.language == task::Language::kTriton ? "python" : "cpp", draft.source);
}

}  // namespace kw::writer
