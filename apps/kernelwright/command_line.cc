// CLI11 reads the words; suggestions, ranges and messages are ours.
#include "command_line.h"

#include <array>
#include <charconv>
#include <functional>
#include <optional>

#include <CLI/CLI.hpp>

#include "base/text.h"
#include "command_line_parts.h"
#include "data_command_line.h"
#include "help_text.h"
#include "model_command_line.h"
#include "settings.h"

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

// The parts of a command that need a second look after CLI11.
struct Words {
  std::string memory = "0", isolation = "none";
  bool no_evidence = false, no_timing = false;
  std::string seed = "0";  // over 2^31
  double tokens = 0;
};

struct Grammar {
  CLI::App app{
      "Judges kernels that nobody can trust: are they right, and how much faster than torch?",
      "kernelwright"};
  std::vector<std::pair<CLI::App*, std::function<Command()>>>
      commands;  // innermost commands, with what they give
  bool version = false, version_json = false;

  EvalCommand eval;
  Words words;
  ProblemsListCommand list;
  ProblemsShowCommand show;
  ProblemsCheckCommand check;
  ProblemsTraceCommand trace;
  Words check_words, trace_words;
  PromptCommand prompt;
  RejudgeCommand rejudge;
  CacheSizeCommand cache_size;
  CacheCleanCommand cache_clean;
  DoctorCommand doctor;
  ReportCommand report;
  ModelCommands models;
  SolveCommand solve;
  Words solve_words;
  CLI::App* of_solve = nullptr;
  DataCommands data;

  Grammar();

 private:
  CLI::App* add(CLI::App& parent, const char* name, const char* description,
                std::function<Command()> result, const char* footer = "");
  CLI::App* add_group(const char* name, const char* description);
  void add_eval();
  static void add_eval_settings(CLI::App& e, gym::EvalOptions& o, Words& words);
  void add_solve();
  void add_solve_search(CLI::App& s);
  void add_problems();
  void add_problems_check(CLI::App& problems);
  void add_problems_trace(CLI::App& problems);
  void add_cache();
  void add_report();
};

constexpr const char* kSetConstant =
    "replace a constant of a KernelBench problem by a Python literal; may be given again";

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
  add_solve();
  add_problems();
  CLI::App* of_prompt = add(
      app, "prompt", "print what a model would get to read about a problem",
      [this] { return prompt; }, kPromptFooter);
  text(*of_prompt, "PROBLEM", prompt.problem, "", "as for eval")->required();
  text(*of_prompt, "--language", prompt.language, "NAME",
       "that the model shall write: cpp, python or triton");
  text(*of_prompt, "--target", prompt.target, "NAME", "that the kernel shall run on");
  number(*of_prompt, "--threads", prompt.threads, "N", "that the kernel may use");
  text(*of_prompt, "--template", prompt.prompt_template, "NAME",
       "zero_shot, one_shot, hardware, plan_first or full");
  flag(*of_prompt, "--json", prompt.json, "print template and chat messages as JSON");
  set_words(*of_prompt, prompt.set, kSetConstant);
  CLI::App* of_rejudge =
      add(app, "rejudge", "judge again from stored evidence, without running anything",
          [this] { return rejudge; });
  text(*of_rejudge, "EVIDENCE", rejudge.evidence, "", "path that a verdict gives as its evidence")
      ->required();
  flag(*of_rejudge, "--json", rejudge.json, kJson);
  add_cache();
  CLI::App* of_doctor =
      add(app, "doctor", "show what isolation, timing, languages and targets work on this machine",
          [this] { return doctor; });
  flag(*of_doctor, "--json", doctor.json, kJson);
  add_report();
  const AddCommand add_command = [this](CLI::App& parent, const char* name, const char* description,
                                        std::function<Command()> result, const char* footer) {
    return add(parent, name, description, std::move(result), footer);
  };
  add_model_commands(app, models, add_command);
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
  flag(e, "--json", eval.json, "print a verdict as a JSON object per candidate, one a line");
  set_words(e, eval.set,
            "replace a constant of a KernelBench problem by a Python literal, or (NAME with a dot) "
            "a setting, eval.threads=2; may be given again");
  text(e, "--language", eval.language, "NAME",
       "of the candidates, instead of what the file says: cpp, python, triton, cuda, ptx, cubin");
  add_eval_settings(e, eval.options, words);
}

// How candidates are judged.
void Grammar::add_eval_settings(CLI::App& e, gym::EvalOptions& o, Words& words) {
  text(e, "--target", o.target, "NAME", "what the candidate runs on");
  text(e, "--baseline", o.baseline, "NAME",
       "what speedups are over: eager (torch), compile (torch.compile) or a candidate's file")
      ->group("Measuring");
  number(e, "--half-width", o.half_width_percent, "PERCENT",
         "measure until the speedup's 95 % interval is so narrow")
      ->group("Measuring");
  flag(e, "--precise", o.precise, "to 0.5 %, over several process pairs")->group("Measuring");
  number(e, "--pairs", o.process_pairs, "N",
         "of fresh processes that measure; 0: one, or eight where memory is the limit")
      ->group("Measuring");
  number(e, "--threads", o.threads, "N", "for candidate and baseline")->group("Measuring");
  number(e, "--max-seconds", o.max_seconds, "S", "for measuring one workload")->group("Measuring");
  flag(e, "--no-timing", words.no_timing, "correctness only")->group("Measuring");
  add_candidate_limits(e, "Limits", o.timeout_seconds, words.memory, words.isolation,
                       words.no_evidence);
  e.add_option("--disable", o.disabled,
               "switch off a mechanism of the gym, for tests that show what it is for; verdicts "
               "are worth nothing then")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->group("Limits");
}

void Grammar::add_solve() {
  CLI::App& s = *add(
      app, "solve", "find a fast kernel for a problem, or for each of a data set",
      [this] { return solve; }, kSolveFooter);
  of_solve = &s;
  text(s, "PROBLEM", solve.problem, "", "as for eval, or a folder or .jsonl of many");
  text(s, "--run", solve.run, "DIR",
       "the run's folder; without it a new one in ./runs or in the user's data folder");
  flag(s, "--resume", solve.resume, "go on with the run in --run, with its settings");
  flag(s, "--plan", solve.plan, "print the plan and leave");
  flag(s, "--json", solve.json, "print a JSON object a problem, one a line");
  set_words(s, solve.set, kSetConstant);
  text(s, "--proposer", solve.proposer, "NAME",
       "writer, model, both or recorded; without it model with --model, recorded with --answers, "
       "else writer")
      ->group("Who proposes");
  text(s, "--model", solve.model, "DIR|URL",
       "Hugging Face folder of a Qwen or Llama model, or a server with OpenAI's API")
      ->group("Who proposes");
  text(s, "--answers", solve.answers, "FILE", "recorded answers: a .jsonl, or a run's folder")
      ->group("Who proposes");
  text(s, "--verdicts", solve.verdicts, "DIR",
       "a run's folder, whose verdicts stand for the gym's: with --answers DIR it replays")
      ->group("Who proposes");
  text(s, "--language", solve.search.language, "NAME", "of the kernels: cpp, python or triton")
      ->group("Who proposes");
  text(s, "--template", solve.search.prompt_template, "NAME",
       "of prompts: zero_shot, one_shot, hardware, plan_first or full")
      ->group("Who proposes");
  number(s, "--temperature", solve.temperature, "T", "0: the likeliest token")
      ->group("Who proposes");
  number(s, "--top-p", solve.top_p, "P", "of the likeliest tokens that reach P together")
      ->group("Who proposes");
  number(s, "--max-tokens", solve.max_tokens, "M", "of each answer")->group("Who proposes");
  add_solve_search(s);
  add_engine_options(s, solve.engine, "Local model", "--model-threads",
                     "tokens of prompt and answer, at most what the model has");
  add_server_options(s, solve.server, false);
  add_eval_settings(s, solve.eval, solve_words);
}

void Grammar::add_solve_search(CLI::App& s) {
  search::Settings& o = solve.search;
  text(s, "--method", o.method, "NAME",
       "base, best_of_n, refine or metr (docs/solve.md); without it refine for the writer, else "
       "best_of_n")
      ->group("Search");
  number(s, "--samples", o.samples, "N", "attempts of each problem at most")->group("Search");
  text(s, "--seed", solve_words.seed, "S", "of everything that is drawn")->group("Search");
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
  flag(s, "--first-correct", o.first_correct, "stop a problem at its first correct kernel")
      ->group("When it stops");
  number(s, "--target-speedup", o.target_speedup, "X",
         "stop a problem at this speedup, by its interval's lower end; 0: never")
      ->group("When it stops");
  number(s, "--tokens", solve_words.tokens, "N", "of each problem, prompts and answers; 0: any")
      ->group("When it stops");
  number(s, "--seconds", o.seconds, "S", "of each problem; 0: any")->group("When it stops");
  number(s, "--total-seconds", o.total_seconds, "S", "of the whole run; 0: any")
      ->group("When it stops");
  number(s, "--cost", o.cost_usd, "USD", "of the whole run; 0: any")->group("When it stops");
  number(s, "--tries", o.tries, "N",
         "of a request or a judgement that failed through no fault of its own")
      ->group("When it stops");
  number(s, "--retry-seconds", o.retry_seconds, "S", "before the second try, doubled each time")
      ->group("When it stops");
}

void Grammar::add_problems() {
  CLI::App& problems = *add_group(
      "problems", "list problems, show or trace one, or check whether they can be judged");
  CLI::App& of_list =
      *add(problems, "list", "list the problems of a folder by family", [this] { return list; });
  text(of_list, "--folder", list.folder, "DIR",
       "where they are; without it ./problems, or the one beside the program");
  text(of_list, "--family", list.family, "NAME", "only the problems of this family");
  flag(of_list, "--json", list.json, kJson);
  CLI::App& of_show = *add(problems, "show", "show one problem", [this] { return show; });
  text(of_show, "PROBLEM", show.problem, "", "as for eval")->required();
  flag(of_show, "--signature", show.signature, "print problem.h, the interface of cpp candidates");
  set_words(of_show, show.set, kSetConstant);
  flag(of_show, "--json", show.json, kJson);
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
  flag(c, "--json", check.json, kJson);
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
  flag(t, "--json", trace.json, kJson);
  number(t, "--timeout", trace.timeout_seconds, "S", "of the whole trace in seconds");
  text(t, "--memory", trace_words.memory, "SIZE",
       "of the reference's process, 8GiB for example; 0: 6 GiB");
  add_isolation(t, trace_words.isolation);
}

void Grammar::add_cache() {
  CLI::App& cache = *add_group("cache", "show or empty what is stored on this machine");
  CLI::App& of_size =
      *add(cache, "size", "show how much is stored, and where", [this] { return cache_size; });
  flag(of_size, "--json", cache_size.json, kJson);
  CLI::App& of_clean = *add(cache, "clean", "remove stored builds; they are made again when needed",
                            [this] { return cache_clean; });
  flag(of_clean, "--evidence", cache_clean.evidence,
       "remove stored evidence too: its verdicts cannot be judged again");
  flag(of_clean, "--json", cache_clean.json, kJson);
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

// Of the command given, with one empty line where CLI11 has several.
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

Status read_words(const Words& words, std::uint64_t& memory_bytes, sandbox::Level& isolation) {
  auto memory = parse_bytes(words.memory);
  if (!memory) return tl::unexpected(std::move(memory).error().with_context("--memory"));
  auto level = parse_level(words.isolation);
  if (!level) return tl::unexpected(std::move(level).error().with_context("--isolation-at-least"));
  memory_bytes = *memory;
  isolation = *level;
  return {};
}

Status finish_solve(Grammar& grammar) {
  SolveCommand& solve = grammar.solve;
  const Words& words = grammar.solve_words;
  KW_TRY_STATUS(read_words(words, solve.eval.memory_bytes, solve.isolation_at_least));
  solve.eval.store_evidence = !words.no_evidence;
  solve.eval.timing = !words.no_timing;
  KW_TRY_STATUS(check_range("--tokens", words.tokens, 0, 1e15));
  solve.search.tokens = static_cast<std::int64_t>(words.tokens);
  auto [end, error] =
      std::from_chars(words.seed.data(), words.seed.data() + words.seed.size(), solve.search.seed);
  if (error != std::errc() || end != words.seed.data() + words.seed.size())
    return fail(ErrorCode::kInvalidArgument, "--seed: expected a whole number from 0, not \"{}\"",
                printable(words.seed, 40));
  for (const CLI::Option* option : grammar.of_solve->get_options()) {
    if (option->count() > 0) solve.given.push_back(option->get_name());
  }
  return {};
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
  grammar.eval.options.store_evidence = !grammar.words.no_evidence;
  grammar.eval.options.timing = !grammar.words.no_timing;
  return finish_solve(grammar);
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
