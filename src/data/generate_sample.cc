// One sample: a problem, a question about it, and the writer's answer.
#include <span>

#include <fmt/format.h>

#include "base/text.h"
#include "data/generate.h"
#include "data/generate_mutations.h"
#include "data/generate_prompt.h"
#include "data/generator_origin.h"
#include "data/graph_labels.h"
#include "prompt/machines.h"
#include "prompt/templates.h"
#include "writer/author/author.h"

namespace kw::data {
namespace {

constexpr int kAttempts = 8;
constexpr double kTuned = 0.4;  // share of answers that may have any strategy and tuning
constexpr int kTuningDraws = 4;
// Attempts beyond the first take their problems from far away in the stream.
constexpr unsigned kAttemptShift = 56;

Kind drawn_kind(const Mix& mix, Rng& rng) {
  const std::pair<Kind, double> parts[] = {{Kind::kImplement, mix.implement},
                                           {Kind::kConvert, mix.convert},
                                           {Kind::kDefinition, mix.definition},
                                           {Kind::kRepair, mix.repair},
                                           {Kind::kSpeedup, mix.speedup}};
  double sum = 0;
  for (const auto& [kind, weight] : parts) sum += weight;
  double draw = rng.uniform() * sum;
  Kind out = Kind::kImplement;
  for (const auto& [kind, weight] : parts) {
    if (weight <= 0) continue;
    out = kind;
    draw -= weight;
    if (draw < 0) break;
  }
  return out;
}

struct Share {
  std::string_view name;
  double part;
};

// Shares of templates for questions.
constexpr Share kTemplates[] = {{"zero_shot", 0.40},
                                {"one_shot", 0.15},
                                {"plan_first", 0.20},
                                {"hardware", 0.15},
                                {"full", 0.10}};
// Shares for pending samples: `data filter` writes their question anew, for its own machine.
constexpr Share kPendingTemplates[] = {{"zero_shot", 0.7}, {"plan_first", 0.3}};

std::string_view drawn_template(std::span<const Share> shares, Rng& rng) {
  double draw = rng.uniform();
  for (const Share& share : shares) {
    if (draw < share.part) return share.name;
    draw -= share.part;
  }
  return shares.front().name;
}

// Answers in Triton are compiled for compute capability 9.0, and their blocks chosen for it.
std::vector<prompt::HardwareCard> machines_for(task::Language language) {
  if (language != task::Language::kTriton) return prompt::known_processors();
  std::vector<prompt::HardwareCard> out = prompt::known_gpus();
  std::erase_if(out,
                [](const prompt::HardwareCard& gpu) { return gpu.compute_capability != "9.0"; });
  return out;
}

class SampleMaker {
 public:
  SampleMaker(const GenerateOptions& options, std::uint64_t index, Rng& rng)
      : options_(options), index_(index), rng_(rng), kind_(drawn_kind(options.mix, rng)) {}

  // kUnsupported where the writer has no kernel for the problem.
  Result<Sample> make(std::uint64_t problem_index) {
    KW_TRY(const writer::GeneratedProblem problem,
           writer::generate_problem(options_.seed, problem_index, options_.problems));
    const bool module =
        kind_ == Kind::kConvert ||
        ((kind_ == Kind::kRepair || kind_ == Kind::kSpeedup) && rng_.uniform() < 0.6);
    const writer::ProblemForm& form = module ? problem.module : problem.definition;
    KW_TRY(const std::vector<writer::Draft> drafts, drafts_of(form));
    const writer::Draft& answer = drafts[0];
    Sample out;
    out.kind = kind_;
    KW_TRY(prompt::ChatPrompt question, question_of(problem, form, answer));
    out.messages = std::move(question.messages);
    out.messages.push_back({"assistant", writer::answer_text(answer)});
    KW_TRY(out.problem, sample_problem(form.problem));
    if (module) {
      for (const task::Problem& other : problem.resized_modules)
        out.problem->resized.push_back(other.module().source);
    }
    out.language = task::to_string(options_.language);
    out.origin = generator_origin(options_.seed, index_, problem_index, options_.problems);
    out.group = problem.name;
    set_graph_labels(form.graph, out.labels);
    out.labels.strategy = answer.strategy;
    out.labels.tier = problem.tier;
    out.labels.other["family"] = problem.family;
    out.labels.other["made_of"] = problem.made_of;
    out.labels.other["template"] = question.template_id;
    if (!answer.tuning.empty())
      out.labels.other["kernel"] = writer::label_of(answer.strategy, answer.tuning);
    if (kind_ == Kind::kSpeedup) {
      out.pending = Pending{writer::answer_text(drafts[1]), std::string(template_)};
      out.labels.other["previous_strategy"] = drafts[1].strategy;
    }
    if (kind_ == Kind::kRepair) {
      auto wrong = mutate(answer.source, options_.language, rng_);
      if (!wrong) return fail(ErrorCode::kUnsupported, "nothing in the kernel can be made wrong");
      writer::Draft previous = answer;
      previous.source = std::move(wrong->source);
      out.pending = Pending{writer::answer_text(previous), std::string(template_)};
      out.labels.other["mutation"] = wrong->kind;
    }
    out.id = sample_id(out);
    return out;
  }

 private:
  // The answer, and for a speed-up a slower kernel behind it.
  Result<std::vector<writer::Draft>> drafts_of(const writer::ProblemForm& form) {
    std::vector<std::string_view> names = writer::strategies(options_.language);
    if (!options_.strategy.empty()) names = {options_.strategy};
    if (names.empty())
      return fail(ErrorCode::kInvalidArgument, "the writer has no strategy for {}",
                  task::to_string(options_.language));
    std::vector<writer::Draft> out;
    std::optional<Error> why;
    const std::size_t wanted = kind_ == Kind::kSpeedup ? 2 : 1;
    const auto add = [&](std::string_view name) {
      auto draft = writer::write_kernel(form.graph, form.signature, options_.language, name);
      if (!draft) {
        why = draft.error();
      } else if (out.empty() || out[0].source != draft->source) {
        out.push_back(std::move(*draft));
      }
    };
    if (wanted == 2) {  // the fast one first, then the plainest that differs
      for (std::size_t i = 0; i < names.size() && out.empty(); ++i) add(names[i]);
      for (std::size_t i = names.size(); i-- > 1 && out.size() < 2;) add(names[i]);
    } else {
      while (out.empty() && !names.empty()) {
        const std::size_t at = rng_.below(names.size());
        add(names[at]);
        names.erase(names.begin() + static_cast<std::ptrdiff_t>(at));
      }
      if (!out.empty() && options_.strategy.empty() && rng_.uniform() < kTuned)
        vary(form, out.front());
    }
    if (out.size() == wanted) return out;
    if (why && why->code() != ErrorCode::kUnsupported) return tl::unexpected(*why);
    return fail(ErrorCode::kUnsupported, "{}",
                why ? why->message() : "all strategies give one kernel");
  }

  // Another number in place of a usual one, where that makes another kernel.
  void vary(const writer::ProblemForm& form, writer::Draft& draft) {
    const std::vector<writer::Choice> choices = writer::choices(options_.language, draft.strategy);
    for (int i = 0; i < kTuningDraws && !choices.empty(); ++i) {
      const writer::Choice& choice = choices[rng_.below(choices.size())];
      const int value = choice.values[rng_.below(choice.values.size())];
      if (value == choice.usual) continue;
      auto other = writer::write_kernel(form.graph, form.signature, options_.language,
                                        draft.strategy, {{choice.name, value}});
      if (!other || other->source == draft.source) continue;
      draft = std::move(*other);
      return;
    }
  }

  Result<prompt::ChatPrompt> question_of(const writer::GeneratedProblem& problem,
                                         const writer::ProblemForm& form,
                                         const writer::Draft& answer) {
    prompt::PromptOptions options;
    options.build_flags = options_.build_flags;
    const task::Problem shown = with_all_workloads(form.problem);
    if (kind_ == Kind::kImplement)
      return implement_prompt(shown, form.signature, options_.language, problem.steps, options);
    const bool pending = kind_ == Kind::kRepair || kind_ == Kind::kSpeedup;
    template_ = pending                              ? drawn_template(kPendingTemplates, rng_)
                : options_.question_template.empty() ? drawn_template(kTemplates, rng_)
                                                     : options_.question_template;
    KW_TRY(const prompt::Template chosen, prompt::template_named(template_));
    if (chosen.hardware) {
      const auto known = machines_for(options_.language);
      options.hardware = known[rng_.below(known.size())];
      options.machine = options.hardware->name;
    }
    if (chosen.compact) {
      options.graph = writer::to_text(writer::without_lines(form.graph));
      options.strategy = answer.strategy;
    }
    return prompt::chat_prompt(shown, form.signature, options_.language, chosen, options);
  }

  // A question tells all size sets, those too that are too large for an interpreter.
  static task::Problem with_all_workloads(task::Problem problem) {
    for (auto& [uuid, policy] : problem.policy.workloads)
      policy.targets = {task::Target::kCpu, task::Target::kCuda, task::Target::kInterpret};
    return problem;
  }

  const GenerateOptions& options_;
  std::uint64_t index_;
  Rng& rng_;
  Kind kind_;
  std::string_view template_;  // the question's template; "" for an `implement` sample
};

}  // namespace

Result<Sample> generate_sample(const GenerateOptions& options, std::uint64_t index) {
  Rng rng = Rng::at(~options.seed, index);
  SampleMaker maker(options, index, rng);
  std::optional<Error> why;
  for (std::uint64_t attempt = 0; attempt < kAttempts; ++attempt) {
    auto made = maker.make(index + (attempt << kAttemptShift));
    if (made || made.error().code() != ErrorCode::kUnsupported) {
      if (!made)
        return tl::unexpected(
            std::move(made).error().with_context(fmt::format("sample {}", index)));
      return made;
    }
    why = std::move(made).error();
  }
  return fail(ErrorCode::kUnsupported, "sample {}: no problem of {} that the writer can solve: {}",
              index, kAttempts, why ? why->message() : "");
}

}  // namespace kw::data
