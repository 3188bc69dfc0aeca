#include "writer/author/check_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "writer/author/author.h"
#include "writer/author/operator_chain.h"

namespace kw::writer {
namespace {

std::string shown(std::string_view text) {
  constexpr std::size_t kMax = 160;
  return fmt::format("\"{}\"", printable(text, kMax));
}

std::vector<std::string_view> pieces(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> out;
  while (true) {
    const std::size_t end = text.find(separator);
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + separator.size());
  }
}

// The first place where the two lists differ.
std::string difference(const std::vector<std::string_view>& given,
                       const std::vector<std::string_view>& wanted, std::string_view of) {
  const auto [a, b] = std::mismatch(given.begin(), given.end(), wanted.begin(), wanted.end());
  return fmt::format("{} {} is {}, not {}", of, a - given.begin() + 1,
                     a == given.end() ? "missing" : shown(*a),
                     b == wanted.end() ? "there" : shown(*b));
}

// "fused: what it does": the name.
std::string_view strategy_in(const AnswerPlan& plan) {
  return trim(std::string_view(plan.strategy).substr(0, plan.strategy.find(':')));
}

// The choices that the tiling names. Kernels, with their blocks, follow from these.
Result<Tuning> tuning_in(const AnswerPlan& plan) {
  Tuning out;
  for (const std::string_view part : pieces(plan.tiling, "; ")) {
    const std::string_view first = part.substr(0, part.find(' '));
    if (first.find('=') == std::string_view::npos) continue;
    auto choices = parse_label("tiling " + std::string(part));
    if (!choices) return fail(ErrorCode::kInvalidArgument, "{} is no choice", shown(part));
    out.merge(choices->tuning);
  }
  return out;
}

struct Checked {
  std::vector<std::string> misfits;
  std::optional<Draft> again;  // the kernel of the plan, where that can be written
};

Result<Checked> checked(const Graph& graph, const task::Signature& signature,
                        task::Language language, const AnswerPlan& plan) {
  Checked out;
  if (const std::string chain = operator_chain(graph); plan.operators != chain)
    out.misfits.push_back("operators: " +
                          difference(pieces(plan.operators, " > "), pieces(chain, " > "), "entry"));
  const std::string_view name = strategy_in(plan);
  const auto known = strategies(language);
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    out.misfits.push_back(
        fmt::format("strategy: {} is none of {}", shown(name), fmt::join(known, ", ")));
    return out;
  }
  auto tuning = tuning_in(plan);
  Status allowed = tuning ? check(*tuning, choices(language, name)) : Status();
  if (!tuning || !allowed) {
    out.misfits.push_back("tiling: " + (tuning ? allowed.error() : tuning.error()).message());
    return out;
  }
  KW_TRY(out.again, write_kernel(graph, signature, language, name, *tuning));
  KW_TRY(const AnswerPlan wanted, parse_plan(fmt::format("{}", fmt::join(out.again->plan, "\n"))));
  const auto compare = [&](std::string_view line, const std::string& is, const std::string& to_be) {
    if (is != to_be)
      out.misfits.push_back(fmt::format("{}: {}, not {}", line, shown(is), shown(to_be)));
  };
  compare("limit", plan.limit, wanted.limit);
  compare("strategy", plan.strategy, wanted.strategy);
  compare("tiling", plan.tiling, wanted.tiling);
  return out;
}

}  // namespace

Result<std::vector<std::string>> check_plan(const Graph& graph, const task::Signature& signature,
                                            task::Language language, const AnswerPlan& plan) {
  KW_TRY(Checked out, checked(graph, signature, language, plan));
  return std::move(out.misfits);
}

Result<std::vector<std::string>> check_answer(const Graph& graph, const task::Signature& signature,
                                              task::Language language, std::string_view answer) {
  const auto plan = parse_plan(answer);
  if (!plan) return std::vector<std::string>{plan.error().message()};
  KW_TRY(Checked out, checked(graph, signature, language, *plan));
  if (!out.misfits.empty() || !out.again) return std::move(out.misfits);
  const std::string again = answer_text(*out.again);
  if (answer != again)
    out.misfits.push_back(difference(pieces(answer, "\n"), pieces(again, "\n"), "line"));
  return std::move(out.misfits);
}

}  // namespace kw::writer
