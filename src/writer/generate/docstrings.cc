#include "writer/generate/docstrings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "writer/generate/python_text.h"

namespace kw::writer::generate {
namespace {

constexpr std::string_view kIrrelevant[] = {
    "Adapted from an internal prototype.",
    "See the paper for details.",
    "NOTE: tested with PyTorch 2.x only.",
    "Part of the encoder stack.",
    "This module is used by the baseline configuration.",
    "Do not change the argument order, checkpoints depend on it.",
    "Written for readability, not for speed.",
    "Author: the vision team.",
    "Mixed precision is not supported yet.",
};
constexpr std::string_view kOpenings[] = {
    "Simple model that performs {}.",
    "A model that applies {}.",
    "Model computing {}.",
    "Performs {}.",
    "A simple module: {}.",
    "Computes {}.",
};

std::string chosen(Rng& rng, std::span<const std::string_view> from) {
  return std::string(from[rng.below(from.size())]);
}

std::string quoted(const std::vector<std::string>& lines, std::size_t indent, Rng& rng) {
  const std::string space(indent, ' ');
  if (lines.size() == 1 && rng.uniform() < 0.5)
    return fmt::format("{}\"\"\"{}\"\"\"\n", space, lines[0]);
  std::string out = space + "\"\"\"\n";
  for (const std::string& line : lines) out += line.empty() ? "\n" : space + line + "\n";
  return out + space + "\"\"\"\n";
}

constexpr std::string_view kWrong[] = {
    "a GELU activation",     "softmax along the last dimension", "a batched matrix product",
    "layer normalisation",   "a 2-d convolution and ReLU",       "global average pooling",
    "a cumulative sum",      "instance normalisation",           "cross entropy",
    "a residual connection", "a linear layer and dropout"};
// Of another operator than the problem's.
std::string wrong_words(Rng& rng) {
  return chosen(rng, kWrong);
}

}  // namespace

std::span<const std::string_view> irrelevant_lines() {
  return kIrrelevant;
}
std::span<const std::string_view> misleading_words() {
  return kWrong;
}

std::string words_of(const Step& step) {
  return fill(step.spec->words,
              [&](std::string_view name) -> std::string {
                const Param* param = step.param(name);
                if (param == nullptr) return std::string(name);
                const std::string text = python_text(param->value);
                return fill(text, [](std::string_view operand) { return std::string(operand); },
                            {});
              },
              {});
}

std::string words_of(const Plan& plan) {
  std::vector<std::string> out;
  for (const Step& step : plan.steps) {
    out.push_back(words_of(step));
    if (out.back().ends_with(','))
      out.back().pop_back();  // before its operands, in a list of steps
  }
  return fmt::format("{}", fmt::join(out, ", then "));
}

std::string class_docstring(const Plan& plan, const std::vector<ArgumentWords>& arguments,
                            Rng& rng) {
  const double kind = rng.uniform();
  if (kind < 0.35) return {};
  const std::string opening = chosen(rng, kOpenings);
  if (kind < 0.42) return quoted({chosen(rng, kIrrelevant)}, 4, rng);
  if (kind < 0.48) return quoted({fmt::format(fmt::runtime(opening), wrong_words(rng))}, 4, rng);
  std::vector<std::string> lines = {fmt::format(fmt::runtime(opening), words_of(plan))};
  if (kind > 0.75 && !arguments.empty()) {
    lines.emplace_back();
    lines.emplace_back(rng.uniform() < 0.7 ? "Args:" : "Parameters:");
    for (const ArgumentWords& one : arguments) lines.push_back("    " + argument_line(one, rng));
  }
  if (rng.uniform() < 0.1) lines.push_back(chosen(rng, kIrrelevant));
  return quoted(lines, 4, rng);
}

std::string init_docstring(const std::vector<ArgumentWords>& arguments, Rng& rng) {
  if (arguments.empty() || rng.uniform() < 0.85) return {};
  std::vector<std::string> lines;
  for (const ArgumentWords& one : arguments)
    lines.push_back(fmt::format(":param {}: {}", one.name, description(one, rng)));
  return quoted(lines, 8, rng);
}

std::string forward_docstring(const Plan& plan, const std::vector<std::string>& inputs, Rng& rng) {
  const double kind = rng.uniform();
  if (kind < 0.6) return {};
  if (kind < 0.66) return quoted({fmt::format("Applies {}.", wrong_words(rng))}, 8, rng);
  if (kind < 0.8) return quoted({"Forward pass."}, 8, rng);
  std::vector<std::string> lines = {"Forward pass.", "", "Args:"};
  auto name = inputs.begin();
  for (const Slot& slot : plan.slots) {
    if (slot.role != InputRole::kInput) continue;
    std::vector<std::string> dims;
    for (const Dim& dim : plan.values[static_cast<std::size_t>(slot.value)].shape) {
      const auto symbols = dim.size.symbols();
      const bool alone = symbols.size() == 1 && dim.size == IntExpr::symbol(*symbols.begin());
      const Axis* axis = alone ? plan.axis(*symbols.begin()) : nullptr;
      dims.push_back(axis == nullptr ? std::to_string(dim.n) : axis->wanted);
    }
    lines.push_back(
        fmt::format("    {} (torch.Tensor): input of shape ({})", *name++, fmt::join(dims, ", ")));
  }
  lines.emplace_back();
  lines.emplace_back("Returns:");
  lines.emplace_back("    torch.Tensor: the result");
  return quoted(lines, 8, rng);
}

}  // namespace kw::writer::generate
