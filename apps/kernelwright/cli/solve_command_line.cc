#include "kernelwright/cli/solve_command_line.h"

#include <charconv>

#include "base/text.h"
#include "kernelwright/cli/help_text.h"
#include "kernelwright/cli/settings.h"

namespace kw::front {

void SolveGrammar::add(CLI::App& app, const AddCommand& add) {
  app_ = add(
      app, "solve", "find a fast kernel for a problem, or for each of a data set",
      [this] { return command_; }, kSolveFooter);
  CLI::App& s = *app_;
  text(s, "PROBLEM", command_.problem, "", "as for eval, or a folder or .jsonl of many");
  text(s, "--run", command_.run, "DIR",
       "the run's folder; without it a new one in ./runs or in the user's data folder");
  flag(s, "--resume", command_.resume, "go on with the run in --run, with its settings");
  flag(s, "--plan", command_.plan, "print the plan and leave");
  flag(s, "--json", command_.json, "print a JSON object a problem, one a line");
  set_words(s, command_.set, kSetConstant);
  text(s, "--proposer", command_.proposer, "NAME",
       "writer, model, both or recorded; without it model with --model, recorded with --answers, "
       "else writer")
      ->group("Who proposes");
  text(s, "--model", command_.model, "DIR|URL",
       "Hugging Face folder of a Qwen or Llama model, or a server with OpenAI's API")
      ->group("Who proposes");
  text(s, "--answers", command_.answers, "FILE", "recorded answers: a .jsonl, or a run's folder")
      ->group("Who proposes");
  text(s, "--verdicts", command_.verdicts, "DIR",
       "a run's folder, whose verdicts stand for the gym's: with --answers DIR it replays")
      ->group("Who proposes");
  text(s, "--language", command_.search.language, "NAME", "of the kernels: cpp, python or triton")
      ->group("Who proposes");
  text(s, "--template", command_.search.prompt_template, "NAME",
       "of prompts: zero_shot, one_shot, hardware, plan_first or full")
      ->group("Who proposes");
  text(s, "--machine", command_.search.machine, "NAME", kMachine)->group("Who proposes");
  number(s, "--temperature", command_.temperature, "T", "0: the likeliest token")
      ->group("Who proposes");
  number(s, "--top-p", command_.top_p, "P", "of the likeliest tokens that reach P together")
      ->group("Who proposes");
  number(s, "--max-tokens", command_.max_tokens, "M", "of each answer")->group("Who proposes");
  number(s, "--tokens-per-second", command_.tokens_per_second, "N",
         "that the model writes, all answers in flight together: for the plan's time; 0: not known")
      ->group("Who proposes");
  add_search();
  add_stops();
  add_engine_options(s, command_.engine, "Local model", "--model-threads",
                     "tokens of prompt and answer, at most what the model has");
  add_server_options(s, command_.server, false);
  add_eval_settings(s, command_.eval, words_);
}

void SolveGrammar::add_search() {
  CLI::App& s = *app_;
  search::Settings& o = command_.search;
  text(s, "--method", o.method, "NAME",
       "base, best_of_n, refine or metr (docs/solve.md); without it refine for the writer and "
       "both, else best_of_n")
      ->group("Search");
  number(s, "--samples", o.samples, "N", "attempts of each problem at most")->group("Search");
  text(s, "--seed", seed_, "S", "of everything that is drawn")->group("Search");
  number(s, "--first", o.first, "N", "metr: attempts before parents are drawn")->group("Search");
  number(s, "--alpha", o.alpha, "A", "metr: parents are drawn by speedup to the power of A")
      ->group("Search");
  number(s, "--jobs", o.jobs, "N", "problems at once")->group("Search");
  number(s, "--parallel", o.parallel, "N",
         "attempts of a problem in flight; 0: four where none needs another's verdict, else one")
      ->group("Search");
  number(s, "--judges", o.judges, "N",
         "candidates being built and checked at once, 0: by cores; timing is never parallel")
      ->group("Search");
}

void SolveGrammar::add_stops() {
  CLI::App& s = *app_;
  search::Settings& o = command_.search;
  const char* group = "When it stops";
  flag(s, "--first-correct", o.first_correct, "stop a problem at its first correct kernel")
      ->group(group);
  number(s, "--target-speedup", o.target_speedup, "X",
         "stop a problem at this speedup, by its interval's lower end; 0: never")
      ->group(group);
  number(s, "--tokens", tokens_, "N", "of each problem, prompts and answers; 0: any")->group(group);
  number(s, "--seconds", o.seconds, "S",
         "of each problem, 0: any; 60 for the writer where no flag of this group and no --samples "
         "is given")
      ->group(group);
  number(s, "--total-seconds", o.total_seconds, "S", "of the whole run; 0: any")->group(group);
  number(s, "--cost", o.cost_usd, "USD", "of the whole run, by the server's prices; 0: any")
      ->group(group);
  number(s, "--tries", o.tries, "N",
         "of a request or a judgement that failed through no fault of its own")
      ->group(group);
  number(s, "--retry-seconds", o.retry_seconds, "S", "before the second try, doubled each time")
      ->group(group);
}

Status SolveGrammar::finish() {
  KW_TRY_STATUS(read_words(words_, command_.eval.memory_bytes, command_.isolation_at_least));
  command_.eval.store_evidence = !words_.no_evidence;
  command_.eval.timing = !words_.no_timing;
  KW_TRY_STATUS(check_range("--tokens", tokens_, 0, 1e15));
  command_.search.tokens = static_cast<std::int64_t>(tokens_);
  auto [end, error] =
      std::from_chars(seed_.data(), seed_.data() + seed_.size(), command_.search.seed);
  if (error != std::errc() || end != seed_.data() + seed_.size())
    return fail(ErrorCode::kInvalidArgument, "--seed: expected a whole number from 0, not \"{}\"",
                printable(seed_, 40));
  for (const CLI::Option* option : app_->get_options()) {
    if (option->count() > 0) command_.given.push_back(option->get_name());
  }
  return {};
}

}  // namespace kw::front
