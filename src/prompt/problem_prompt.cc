// The layout of the prompt; its variable parts come from sections.h.
#include "prompt/problem_prompt.h"

#include "base/text.h"
#include "prompt/extract.h"
#include "prompt/sections.h"
#include "prompt/worked_example.h"
#include "task/target.h"

namespace kw::prompt {
namespace {

// Headings are Markdown: every instruct model has seen it, and code stays in fences of its own.
constexpr const char* kTemplate = R"(# Task
Write a fast {language} implementation of `{name}` for {target}. It replaces the reference below, computes the same outputs, and should run as much faster than it as you can make it.
{description}
# Interface
{interface}
# Workloads
{workloads}
# Rules
{rules}
{machine}{example}# Reference
```python
{reference}
```

{before_answer}# Answer
{approach}Then give the whole code in one block, fenced with ```{tag} and ```; only the last such block is read. {answer}
)";

// A model that was taught on such prompts knows the rules, and the form of the answer.
constexpr const char* kCompact = R"({interface}
{graph}{strategy}
```python
{reference}
```
{before_answer})";

constexpr std::string_view kApproach = "Explain your approach in a few sentences. ";
constexpr std::string_view kPlan =
    R"(First give a plan of exactly four lines, each its name, a colon and what is asked for:
operators: the operators in their order with their constants, such as `mm > mul(0.5) > amax(dim=[1])`
limit: what bounds the speed: memory, arithmetic or latency
strategy: how the work is split over threads or programs, vectors and loops, and what is fused
tiling: the sizes of blocks and vectors, and how ends that do not fit are handled
)";

// Interpreted kernels are compiled for a GPU as well.
std::string target_name(task::Language language, const PromptOptions& options) {
  if (task::is_interpreted(language, options.target))
    return "an NVIDIA GPU of compute capability 9.0 (judged by Triton's interpreter and compiler)";
  std::string name = options.target == task::Target::kCpu ? std::string("the CPU")
                                                          : std::string(to_string(options.target));
  if (!options.machine.empty()) name += fmt::format(" ({})", printable(options.machine, 200));
  return name;
}

std::string answer_form(const task::Problem& problem, task::Language language) {
  if (language == task::Language::kCpp) {
    return "It is one C++ source file; `problem.h` is included for you. Do not include tests or a "
           "`main`.";
  }
  if (problem.is_module()) {
    return "It is one Python file that defines `ModelNew` and imports what it needs. Do not "
           "include tests or example calls.";
  }
  return "It is one Python file that defines `run` and imports what it needs. Do not include tests "
         "or example calls.";
}

std::string titled(std::string_view title, const std::string& section) {
  return section.empty() ? std::string() : fmt::format("# {}\n{}\n", title, section);
}

// Sources end in one newline here, whatever they end in.
std::string reference_of(const task::Problem& problem) {
  const std::string& source =
      problem.is_module() ? problem.module().source : problem.definition().reference;
  return std::string(trim(source));
}

Result<std::string> compact_prompt(const task::Problem& problem, const task::Signature& signature,
                                   task::Language language, const PromptOptions& options) {
  if (options.graph.empty())
    return fail(ErrorCode::kInvalidArgument, "a compact prompt needs the problem's graph");
  return fmt::format(
      fmt::runtime(kCompact),
      fmt::arg("interface", compact_interface(problem, signature, language)),
      fmt::arg("graph", options.graph),
      fmt::arg("strategy",
               options.strategy.empty() ? "" : fmt::format("strategy: {}", options.strategy)),
      fmt::arg("reference", reference_of(problem)),
      fmt::arg("before_answer", options.before_answer));
}

}  // namespace

std::string entry_of(const task::Problem& problem, task::Language language) {
  return problem.is_module() && language != task::Language::kCpp ? "ModelNew" : "run";
}

Result<std::string> problem_prompt(const task::Problem& problem, const task::Signature& signature,
                                   task::Language language, const PromptOptions& options) {
  if (worked_example(language, problem.is_module()).code.empty()) {
    return fail(ErrorCode::kUnsupported,
                "there is no prompt for language {} (there is one for cpp, python and triton)",
                to_string(language));
  }
  if (options.compact) return compact_prompt(problem, signature, language, options);
  return fmt::format(
      fmt::runtime(kTemplate), fmt::arg("language", task::facts_of(language).title),
      fmt::arg("name", printable(problem.name, 256)),
      fmt::arg("target", target_name(language, options)),
      fmt::arg("description", description_section(problem)),
      fmt::arg("interface", interface_section(problem, signature, language)),
      fmt::arg("workloads",
               workloads_section(problem, task::workload_target(language, options.target))),
      fmt::arg("rules", rules_section(problem, language, options)),
      fmt::arg("machine", titled("Machine", options.hardware ? hardware_section(*options.hardware)
                                                             : std::string())),
      fmt::arg("example",
               titled("Example", options.example ? example_section(language, problem.is_module())
                                                 : std::string())),
      fmt::arg("before_answer", options.before_answer),
      fmt::arg("approach", options.plan ? kPlan : kApproach),
      fmt::arg("reference", reference_of(problem)), fmt::arg("tag", fence_tag(language)),
      fmt::arg("answer", answer_form(problem, language)));
}

}  // namespace kw::prompt
