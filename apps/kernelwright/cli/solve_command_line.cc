#include "kernelwright/cli/solve_command_line.h"

#include "kernelwright/cli/described_options.h"
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
  add_judge(s, command_.judge);
  flag(s, "--plan", command_.plan, "print the plan and leave");
  flag(s, "--json", command_.json, "print a JSON object a problem, one a line");
  set_words(s, command_.set, kSetConstant);
  add_described(s, command_);
  add_described(s, command_.search);
  add_engine_options(s, command_.engine, "Local model", "--model-threads",
                     "tokens of prompt and answer, at most what the model has");
  add_server_options(s, command_.server, false);
  add_eval_settings(s, command_.eval, words_);
}

Status SolveGrammar::finish() {
  KW_TRY_STATUS(read_words(words_, command_.eval.memory_bytes, command_.isolation_at_least));
  command_.baseline = words_.baseline;
  for (const CLI::Option* option : app_->get_options()) {
    if (option->count() > 0) command_.given.push_back(option->get_name());
  }
  return {};
}

}  // namespace kw::front
