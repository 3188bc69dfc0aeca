// Options in, a file out; progress on stderr.
#include "kernelwright/data/generate.h"

#include <algorithm>
#include <charconv>
#include <chrono>

#include <fmt/ranges.h>

#include "base/text.h"
#include "data/generate.h"
#include "kernelwright/cli/settings.h"
#include "prompt/templates.h"
#include "writer/author/author.h"

namespace kw::front {
namespace {

// Elements of a tensor. The gym runs Triton kernels in the interpreter, whose calls have a minute:
// at the smaller of their size sets.
constexpr std::uint64_t kMaxElements = 1U << 25U;
constexpr std::int64_t kMaxInterpreted = 1 << 14;
constexpr int kTiers = 5;

Result<std::uint64_t> whole_of(std::string_view flag, const std::string& word) {
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
  if (error != std::errc() || end != word.data() + word.size())
    return fail(ErrorCode::kInvalidArgument, "{}: expected a whole number from 0, not \"{}\"", flag,
                printable(word, 40));
  return out;
}

// "1,2"
Result<std::vector<int>> tiers_of(const std::string& list) {
  std::vector<int> out;
  if (list.empty()) return out;
  for (const std::string& word : split(list, ',')) {
    KW_TRY(const std::uint64_t tier, whole_of("--tiers", std::string(trim(word))));
    KW_TRY_STATUS(check_range("--tiers", static_cast<double>(tier), 1, kTiers));
    out.push_back(static_cast<int>(tier));
  }
  return out;
}

// "relu,sum"
Result<std::vector<std::string>> operators_of(const std::string& list) {
  std::vector<std::string> out;
  if (list.empty()) return out;
  std::vector<std::string> known;
  for (const writer::OperatorWays& one : writer::generator_operators()) known.push_back(one.name);
  for (const std::string& word : split(list, ',')) {
    out.emplace_back(trim(word));
    if (std::ranges::find(known, out.back()) != known.end()) continue;
    const std::string hint = nearest(out.back(), known);
    return fail(ErrorCode::kInvalidArgument, "--operators: no operator \"{}\"{}",
                printable(out.back(), 40), hint.empty() ? "" : "; did you mean " + hint + "?");
  }
  return out;
}

Status set_question(const DataGenerateCommand& command, data::GenerateOptions& out) {
  const auto known = writer::strategies(out.language);
  if (!command.strategy.empty() && std::ranges::find(known, command.strategy) == known.end())
    return fail(ErrorCode::kInvalidArgument, "--strategy: no \"{}\"; there are {}",
                printable(command.strategy, 40), fmt::join(known, ", "));
  out.strategy = command.strategy;
  if (command.question.empty()) return {};
  auto chosen = prompt::template_named(command.question);
  if (!chosen) return tl::unexpected(std::move(chosen).error().with_context("--template"));
  if (out.mix.implement > 0 || out.mix.repair > 0 || out.mix.speedup > 0)
    return fail(ErrorCode::kInvalidArgument,
                "--template: questions of convert and definition alone have one; give --mix");
  out.question_template = command.question;
  return {};
}

Result<data::GenerateOptions> options_of(const DataGenerateCommand& command,
                                         const Services& services) {
  data::GenerateOptions out;
  KW_TRY(out.seed, whole_of("--seed", command.seed));
  KW_TRY(out.count, whole_of("--count", command.count));
  KW_TRY_STATUS(check_ranges(command, OptionNames::kFlags));
  out.workers = command.workers;
  out.problems.max_depth = command.max_depth;
  const auto language = task::language_from_string(command.language);
  if (!language || writer::strategies(*language).empty())
    return fail(ErrorCode::kInvalidArgument, "--target: the writer writes cpp and triton, not {}",
                printable(command.language, 40));
  out.language = *language;
  const bool interpreted = out.language == task::Language::kTriton;
  if (interpreted) out.problems.interpreted_elements = kMaxInterpreted;
  std::uint64_t elements = kMaxElements;
  if (!command.max_elements.empty()) {
    KW_TRY(elements, whole_of("--max-elements", command.max_elements));
  }
  KW_TRY_STATUS(
      check_range("--max-elements", static_cast<double>(elements), 64, double(1ULL << 31U)));
  out.problems.max_elements = static_cast<std::int64_t>(elements);
  // The plainest kernels need about a millisecond for 128 multiplications there.
  out.problems.max_work = out.problems.max_elements * (interpreted ? 32 : 256);
  KW_TRY(out.problems.tiers, tiers_of(command.tiers));
  if (!command.mix.empty()) {
    KW_TRY(out.mix, data::mix_from_text(command.mix));
  }
  if (interpreted) {
    if (!command.mix.empty() && out.mix.speedup > 0)
      return fail(ErrorCode::kInvalidArgument,
                  "--mix: speedup: kernels of --target triton are not timed");
    out.mix.speedup = 0;
  }
  out.build_flags = services.build_flags;
  KW_TRY(out.problems.only_operators, operators_of(command.operators));
  KW_TRY_STATUS(set_question(command, out));
  return out;
}

}  // namespace

Result<int> run_data_generate(const DataGenerateCommand& command, const Services& services) {
  KW_TRY(const data::GenerateOptions options, options_of(command, services));
  const auto start = services.now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(services.now() - start).count();
  };
  const auto progress = [&](const data::GenerateCounts& counts) {
    if (services.console.err_terminal())
      services.console.err(fmt::format("\r\x1b[K{} of {} samples, {}", counts.rows, options.count,
                                       format_bytes(counts.bytes)));
  };
  auto counts = data::generate_file(command.out, options, progress, services.stop);
  if (services.console.err_terminal()) services.console.err("\r\x1b[K");
  if (!counts) return tl::unexpected(std::move(counts).error());
  const std::string file = printable(command.out, 400);
  if (command.json) {
    const Json out = {{"file", command.out},
                      {"rows", counts->rows},
                      {"rows_before", counts->before},
                      {"bytes", counts->bytes},
                      {"wall_s", seconds()}};
    KW_TRY_STATUS(services.console.out(out.dump() + "\n"));
    return 0;
  }
  std::string text = fmt::format("{}: {} samples, {} in {}", file, counts->rows,
                                 format_bytes(counts->bytes), format_ms(seconds() * 1e3));
  if (counts->before > 0) text += fmt::format(" ({} were there)", counts->before);
  KW_TRY_STATUS(services.console.out(text + "\n"));
  services.console.err("next: kernelwright data filter judges them\n");
  return 0;
}

}  // namespace kw::front
