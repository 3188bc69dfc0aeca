// CLI11 reads the words; suggestions, ranges and messages are ours.
#include "kernelwright/cli/command_line.h"

#include <array>
#include <functional>
#include <optional>

#include <CLI/CLI.hpp>

#include "base/text.h"
#include "kernelwright/cli/command_line_parts.h"
#include "kernelwright/cli/data_command_line.h"
#include "kernelwright/cli/help_text.h"
#include "kernelwright/cli/launch_command_line.h"
#include "kernelwright/cli/model_command_line.h"
#include "kernelwright/cli/service_command_line.h"
#include "kernelwright/cli/settings.h"
#include "kernelwright/cli/solve_command_line.h"

namespace kw::front {
namespace {

// Every option with its default at the end of its line.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() {
    column_width(30);
    label("SUBCOMMAND", "COMMAND");
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    std::string type = option->get_type_size() == 0 ? "" : option->get_type_name();
    return type.empty() ? "" : " " + type;
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    std::string text = option->get_description();
    if (!option->get_default_str().empty())
      text += fmt::format(" [default: {}]", option->get_default_str());
    return text;
  }
  std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode) const override {
    std::string out;
    for (const CLI::App* command : app->get_subcommands({})) {
      out +=
          fmt::format("  {:<12} {}\n", command->get_name(),
                      command->get_description().substr(0, command->get_description().find('\n')));
    }
    return out.empty() ? out : "\nCommands:\n" + out;
  }
};

struct Grammar {
  CLI::App app{
      "Judges kernels that nobody can trust: are they right, and how much faster than torch?",
      "kernelwright"};
  std::vector<std::pair<CLI::App*, std::function<Command()>>>
      commands;  // innermost commands, with what they give
  bool version = false, version_json = false;

  EvalCommand eval;
  EvalWords words;
  ProblemsListCommand list;
  ProblemsShowCommand show;
  ProblemsCheckCommand check;
  ProblemsTraceCommand trace;
  EvalWords check_words, trace_words;
  PromptCommand prompt;
  RejudgeCommand rejudge;
  CacheSizeCommand cache_size;
  CacheCleanCommand cache_clean;
  DoctorCommand doctor;
  ReportCommand report;
  ModelCommands models;
  ServiceCommands service;
  LaunchCommands launch;
  SolveGrammar solve;
  DataCommands data;

  Grammar();

 private:
  CLI::App* add(CLI::App& parent, const char* name, const char* description,
                std::function<Command()> result, const char* footer = "");
  CLI::App* add_group(const char* name, const char* description);
  void add_eval();
  void add_problems();
  void add_problems_check(CLI::App& problems);
  void add_problems_trace(CLI::App& problems);
  void add_cache();
  void add_report();
};

Grammar::Grammar() {
  app.formatter(std::make_shared<HelpFormatter>());
  app.allow_extras();
  app.require_subcommand(0, 1);  // "eval relu cache": a word behind a command is no command
  app.set_help_flag("-h,--help", "show this text and leave");
  flag(app, "--version", version,
       "show the versions of the program and its tool chain, with their digest");
  flag(app, "--json", version_json, "with --version: print JSON");
  app.footer(kMainFooter);
  add_eval();
  const AddCommand add_command = [this](CLI::App& parent, const char* name, const char* description,
                                        std::function<Command()> result, const char* footer) {
    return add(parent, name, description, std::move(result), footer);
  };
  solve.add(app, add_command);
  add_problems();
  CLI::App* of_prompt = add(
      app, "prompt", "print what a model would get to read about a problem",
      [this] { return prompt; }, kPromptFooter);
  text(*of_prompt, "PROBLEM", prompt.problem, "", "as for eval")->required();
  text(*of_prompt, "--language", prompt.language, "NAME",
       "that the model shall write: cpp, python or triton");
  target_name(*of_prompt, "--target", prompt.target, "NAME", "that the kernel shall run on");
  number(*of_prompt, "--threads", prompt.threads, "N", "that the kernel may use");
  text(*of_prompt, "--template", prompt.prompt_template, "NAME",
       "zero_shot, one_shot, hardware, plan_first or full");
  text(*of_prompt, "--machine", prompt.machine, "NAME", search::kMachineHelp);
  flag(*of_prompt, "--json", prompt.json, "print template and chat messages as JSON");
  set_words(*of_prompt, prompt.set, kSetConstant);
  CLI::App* of_rejudge =
      add(app, "rejudge", "judge again from stored evidence, without running anything",
          [this] { return rejudge; });
  text(*of_rejudge, "EVIDENCE", rejudge.evidence, "", "path that a verdict gives as its evidence")
      ->required();
  flag(*of_rejudge, "--json", rejudge.json, kJsonHelp);
  add_cache();
  CLI::App* of_doctor =
      add(app, "doctor", "show what isolation, timing, languages and targets work on this machine",
          [this] { return doctor; });
  flag(*of_doctor, "--json", doctor.json, kJsonHelp);
  add_report();
  add_model_commands(app, models, add_command);
  add_model_group(*add_group("model", "bring language models in"), models, add_command);
  add_service_commands(app, service, add_command);
  add_launch_group(*add_group("launch", "start a server and its workers"), launch, add_command);
  add_data_commands(*add_group("data", "make, judge and cut training data"), data, add_command);
}

CLI::App* Grammar::add(CLI::App& parent, const char* name, const char* description,
                       std::function<Command()> result, const char* footer) {
  CLI::App* command = parent.add_subcommand(name, description);
  command->allow_extras();
  command->footer(footer);
  commands.emplace_back(command, std::move(result));
  return command;
}

// A noun with verbs below it: nothing by itself.
CLI::App* Grammar::add_group(const char* name, const char* description) {
  CLI::App* group = app.add_subcommand(name, description);
  group->allow_extras();
  group->require_subcommand(0, 1);
  group->footer("");  // not the program's
  return group;
}

void Grammar::add_eval() {
  CLI::App& e = *add(
      app, "eval", "judge candidates of one problem, or a data set's solutions",
      [this] { return eval; }, kEvalFooter);
  text(e, "PROBLEM", eval.problem, "",
       "folder or .json of a definition, KernelBench .py, DATASET.jsonl#NAME or #LEVEL/ID, or a "
       "name from problems/");
  e.add_option("CANDIDATE", eval.candidates,
               "source file (.cpp, .py, ...), solution .json, or a folder of them; one or more")
      ->type_name("");
  text(e, "--dataset", eval.dataset, "PATH", "judge many: the problems")->group("Many at once");
  text(e, "--solutions", eval.solutions, "PATH",
       "the candidates: a folder, a .jsonl, or a KernelBench run folder")
      ->group("Many at once");
  text(e, "--out", eval.out, "FILE", "write trace lines here and verdicts to FILE.verdicts.jsonl")
      ->group("Many at once");
  flag(e, "--resume", eval.resume, "go on where an earlier run to the same file stopped")
      ->group("Many at once");
  flag(e, "--fail-on-candidate", eval.fail_on_candidate,
       "exit 1 when a candidate failed, as for one problem")
      ->group("Many at once");
  number(e, "--jobs", eval.jobs, "N", "evaluations in flight; timing is never parallel");
  add_judge(e, eval.judge);
  flag(e, "--json", eval.json, "print a verdict as a JSON object per candidate, one a line");
  set_words(e, eval.set,
            "replace a constant of a KernelBench problem by a Python literal, or (NAME with a dot) "
            "a setting, eval.threads=2; may be given again");
  text(e, "--language", eval.language, "NAME",
       "of the candidates, instead of what the file says: cpp, python, triton, cuda, ptx, cubin");
  add_eval_settings(e, eval.options, words);
}

void Grammar::add_problems() {
  CLI::App& problems = *add_group(
      "problems", "list problems, show or trace one, or check whether they can be judged");
  CLI::App& of_list =
      *add(problems, "list", "list the problems of a folder by family", [this] { return list; });
  text(of_list, "--folder", list.folder, "DIR",
       "where they are; without it ./problems, or the one beside the program");
  text(of_list, "--family", list.family, "NAME", "only the problems of this family");
  flag(of_list, "--json", list.json, kJsonHelp);
  CLI::App& of_show = *add(problems, "show", "show one problem", [this] { return show; });
  text(of_show, "PROBLEM", show.problem, "", "as for eval")->required();
  flag(of_show, "--signature", show.signature, "print problem.h, the interface of cpp candidates");
  set_words(of_show, show.set, kSetConstant);
  flag(of_show, "--json", show.json, kJsonHelp);
  add_problems_check(problems);
  add_problems_trace(problems);
}

void Grammar::add_problems_check(CLI::App& problems) {
  CLI::App& c = *add(
      problems, "check", "check whether problems can be judged: would a trivial candidate pass?",
      [this] { return check; }, kCheckFooter);
  text(c, "PROBLEMS", check.problems, "", "as for eval, or a folder or .jsonl of many")->required();
  text(c, "--out", check.out, "FILE", "write the record here, a line of JSON a problem");
  flag(c, "--resume", check.resume, "go on where an earlier run to the same file stopped");
  text(c, "--markdown", check.markdown, "FILE", "write a table here");
  number(c, "--jobs", check.jobs, "N", "problems at once");
  add_judge(c, check.judge);
  flag(c, "--json", check.json, kJsonHelp);
  set_words(c, check.set, kSetConstant);
  number(c, "--timeout", check.timeout_seconds, "S",
         "of one run of a reference in seconds; 0: 60 s");
  text(c, "--memory", check_words.memory, "SIZE",
       "of a reference's process, 8GiB for example; 0: by its inputs and outputs");
  add_isolation(c, check_words.isolation);
}

void Grammar::add_problems_trace(CLI::App& problems) {
  CLI::App& t = *add(problems, "trace", "show what a problem computes, as torch's operators",
                     [this] { return trace; });
  text(t, "PROBLEM", trace.problem, "", "as for eval")->required();
  text(t, "--workload", trace.workload, "UUID", "the size set; without it the first for the CPU");
  set_words(t, trace.set, kSetConstant);
  flag(t, "--json", trace.json, kJsonHelp);
  number(t, "--timeout", trace.timeout_seconds, "S", "of the whole trace in seconds");
  text(t, "--memory", trace_words.memory, "SIZE",
       "of the reference's process, 8GiB for example; 0: 6 GiB");
  add_isolation(t, trace_words.isolation);
}

void Grammar::add_cache() {
  CLI::App& cache = *add_group("cache", "show or empty what is stored on this machine");
  CLI::App& of_size =
      *add(cache, "size", "show how much is stored, and where", [this] { return cache_size; });
  flag(of_size, "--json", cache_size.json, kJsonHelp);
  CLI::App& of_clean = *add(cache, "clean", "remove stored builds; they are made again when needed",
                            [this] { return cache_clean; });
  flag(of_clean, "--evidence", cache_clean.evidence,
       "remove stored evidence too: its verdicts cannot be judged again");
  flag(of_clean, "--json", cache_clean.json, kJsonHelp);
}

void Grammar::add_report() {
  CLI::App& r = *add(
      app, "report", "show what runs came to: fast_p, pass@k, speedups, comparisons",
      [this] { return report; }, kReportFooter);
  r.add_option("RUN", report.runs, "folders of solve, or what eval --out wrote; one or more")
      ->type_name("");
  text(r, "--baseline", report.baseline, "RUN",
       "that the others are compared with; without it the first");
  text(r, "--dataset", report.dataset, "PATH",
       "all problems that were asked: those without a verdict count as failed");
  text(r, "--html", report.html, "FILE", "write a page with curves and all attempts here");
  text(r, "--fast-p", report.fast_p, "P,...",
       "the speedups p of fast_p, \"1,1.5,2\"; 1 is always among them");
  flag(r, "--json", report.json, "print JSON, one object");
}

CLI::App* deepest(CLI::App* app) {
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

// "kernelwright problems list"
std::string path_of(const CLI::App* app) {
  return app->get_parent() == nullptr ? app->get_name()
                                      : path_of(app->get_parent()) + " " + app->get_name();
}

tl::unexpected<Error> unknown(const CLI::App* app, const std::string& word) {
  std::vector<std::string> known;
  bool is_flag = word.starts_with("-");
  if (is_flag) {
    for (const CLI::Option* option : app->get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
  } else {
    for (const CLI::App* command : app->get_subcommands({})) known.push_back(command->get_name());
  }
  std::string_view kind = is_flag ? "flag" : known.empty() ? "argument" : "command";
  std::string hint = nearest(word.substr(0, word.find('=')), known);
  return fail(ErrorCode::kInvalidArgument, "unknown {} \"{}\"{}; see {} --help", kind,
              printable(word, 100), hint.empty() ? "" : fmt::format(" (did you mean {}?)", hint),
              path_of(app));
}

// The help of the given command, with one empty line where CLI11 has several.
std::string help_of(const Grammar& grammar) {
  std::string out;
  for (char c : grammar.app.help()) {
    if (c != '\n' || !out.ends_with("\n\n")) out += c;
  }
  return std::string(trim(out)) + "\n";
}

// CLI11's own sentence, but where a value is missing or too many: that one has types in it.
tl::unexpected<Error> wrong(const CLI::App* app, const CLI::ParseError& error) {
  std::string text = error.what();
  if (error.get_name() == "ArgumentMismatch") {
    bool is_flag = text.find("flag override") != std::string::npos;  // its name without dashes
    std::string name = text.substr(0, text.find_first_of(": "));
    text = is_flag ? "--" + name + ": takes no value" : name + ": its value is missing";
  }
  return fail(ErrorCode::kInvalidArgument, "{}; see {} --help", printable(text, 300), path_of(app));
}

Status finish(Grammar& grammar) {
  KW_TRY_STATUS(read_words(grammar.words, grammar.eval.options.memory_bytes,
                           grammar.eval.isolation_at_least));
  KW_TRY_STATUS(read_words(grammar.check_words, grammar.check.memory_bytes,
                           grammar.check.isolation_at_least));
  KW_TRY_STATUS(read_words(grammar.trace_words, grammar.trace.memory_bytes,
                           grammar.trace.isolation_at_least));
  KW_TRY_STATUS(check_range("--jobs", grammar.eval.jobs, 1, 1024));
  KW_TRY_STATUS(check_range("--jobs", grammar.check.jobs, 1, 1024));
  KW_TRY_STATUS(check_range("--threads", grammar.prompt.threads, 1, 1024));
  KW_TRY_STATUS(finish(grammar.service));
  KW_TRY_STATUS(finish(grammar.launch));
  grammar.eval.baseline = grammar.words.baseline;
  return grammar.solve.finish();
}

Result<Command> choose(Grammar& grammar) {
  CLI::App* app = deepest(&grammar.app);
  if (grammar.version) return VersionCommand{grammar.version_json};
  if (grammar.version_json)
    return fail(ErrorCode::kInvalidArgument,
                "--json stands behind the command: kernelwright eval ... --json");
  for (auto& [command, result] : grammar.commands) {
    if (command == app) return result();
  }
  return HelpCommand{help_of(grammar), false};
}

}  // namespace

Result<Command> parse_command_line(const std::vector<std::string>& arguments) {
  Grammar grammar;
  std::optional<CLI::ParseError> error;
  try {
    // CLI11 takes them in reverse.
    grammar.app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    return HelpCommand{help_of(grammar), true};
  } catch (const CLI::ParseError& e) {
    error = e;
  }
  CLI::App* app = deepest(&grammar.app);
  // An unknown word explains whatever else went wrong.
  auto words = grammar.app.remaining(true);
  std::erase(words, "--");  // what is behind it are no flags; CLI11 keeps it
  if (!words.empty()) return unknown(app, words.front());
  if (error) return wrong(app, *error);
  KW_TRY_STATUS(finish(grammar));
  return choose(grammar);
}

}  // namespace kw::front
