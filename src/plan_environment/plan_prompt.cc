#include "plan_environment/plan_prompt.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "writer/author/author.h"
#include "writer/author/operator_chain.h"

namespace kw::plan_environment {
namespace {

std::string first_line(std::string_view answer) {
  while (!answer.empty()) {
    const std::size_t end = std::min(answer.find('\n'), answer.size());
    const std::string_view line = trim(answer.substr(0, end));
    if (!line.empty()) return std::string(line);
    answer.remove_prefix(std::min(end + 1, answer.size()));
  }
  return "";
}

std::string shapes_of(const std::vector<task::Argument>& tensors) {
  std::vector<std::string> out;
  for (const task::Argument& one : tensors)
    out.push_back(fmt::format("{}", fmt::join(one.shape, "x")));
  return fmt::format("{}", fmt::join(out, " "));
}

std::string choices_text(task::Language language) {
  std::string out;
  for (const std::string_view strategy : writer::strategies(language)) {
    out += fmt::format("{}:", strategy);
    for (const writer::Choice& choice : writer::choices(language, strategy))
      out += fmt::format(" {}={}", choice.name, fmt::join(choice.values, "|"));
    out += "\n";
  }
  return out;
}

}  // namespace

std::string plan_prompt(const writer::Graph& graph, const task::Signature& signature,
                        task::Language language, bool list_choices) {
  std::string out = fmt::format("{}\n{} -> {}\n", writer::operator_chain(graph),
                                shapes_of(signature.inputs), shapes_of(signature.outputs));
  if (list_choices)
    out += fmt::format("Choose a strategy, and numbers that it leaves open, in one line:\n{}",
                       choices_text(language));
  return out;
}

Result<writer::Labelled> read_plan(std::string_view answer, task::Language language) {
  const std::string line = first_line(answer);
  std::optional<writer::Labelled> label = writer::parse_label(line);
  if (!label)
    return fail(ErrorCode::kInvalidArgument, "{:?} is no plan: a strategy, then name=number",
                printable(line, 80));
  const std::vector<std::string_view> known = writer::strategies(language);
  if (std::find(known.begin(), known.end(), label->strategy) == known.end())
    return fail(ErrorCode::kNotFound, "no strategy {:?}; there are {}",
                printable(label->strategy, 40), fmt::join(known, ", "));
  KW_TRY_STATUS(writer::check(label->tuning, writer::choices(language, label->strategy)));
  return std::move(*label);
}

writer::Labelled random_plan(Rng& rng, task::Language language, double share) {
  const std::vector<std::string_view> known = writer::strategies(language);
  writer::Labelled out;
  out.strategy = known[rng.below(known.size())];
  for (const writer::Choice& choice : writer::choices(language, out.strategy)) {
    const double draw = rng.uniform();
    const int value = choice.values[rng.below(choice.values.size())];
    if (draw < share && value != choice.usual) out.tuning.emplace(choice.name, value);
  }
  return out;
}

}  // namespace kw::plan_environment
