// What each command was asked to do: plain structs with the defaults, filled by command_line.h.
#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "gym/gym.h"
#include "kernelwright/cli/data_options.h"
#include "kernelwright/cli/engine_options.h"
#include "kernelwright/cli/server_options.h"
#include "search/settings.h"

namespace kw::front {

// Text to print and be done with: --help, or help because no command was given.
struct HelpCommand {
  std::string text;
  bool asked_for = true;  // false: it goes to stderr and the exit code is 2
};

struct VersionCommand {
  bool json = false;
};

// One problem and its candidates, or a data set and its solutions.
struct EvalCommand {
  std::string problem;                  // see problem_folder.h for what may stand here
  std::vector<std::string> candidates;  // files or folders
  std::string dataset;                  // many problems
  std::string solutions;                // many candidates
  std::string out;                      // trace lines; <out>.verdicts.jsonl lies beside it
  bool resume = false;                  // go on with an `out` that is there
  bool fail_on_candidate = false;       // with a data set: exit 1 when a candidate failed
  bool json = false;
  int jobs = 1;          // evaluations in flight
  std::string language;  // of the candidates; empty: by file
  std::vector<std::string>
      set;  // problem constants, the words after --set without those that are settings
  gym::EvalOptions options;
  sandbox::Level isolation_at_least = sandbox::Level::kNone;
};

struct ProblemsListCommand {
  std::string folder;  // empty: ./problems, or the one of the checkout
  std::string family;  // only this one; empty: all
  bool json = false;
};

struct ProblemsCheckCommand {
  std::string problems;  // one or many: what problem_folder.h and problem_source.h read
  std::vector<std::string> set;
  std::string out;       // the record, a line of JSON a problem
  std::string markdown;  // a table, written at the end
  bool resume = false;   // go on with an `out` that is there
  bool json = false;
  int jobs = 1;                    // problems at once
  double timeout_seconds = 0;      // of one run of a reference; 0: 60 s
  std::uint64_t memory_bytes = 0;  // of a reference's process; 0: as for judging
  sandbox::Level isolation_at_least = sandbox::Level::kNone;
};

struct ProblemsShowCommand {
  std::string problem;
  std::vector<std::string> set;
  bool signature = false;  // problem.h as well
  bool json = false;
};

struct ProblemsTraceCommand {
  std::string problem;
  std::vector<std::string> set;
  std::string workload;  // uuid; empty: the first for the CPU
  bool json = false;
  double timeout_seconds = 120;
  std::uint64_t memory_bytes = 0;  // 0: 6 GiB
  sandbox::Level isolation_at_least = sandbox::Level::kNone;
};

struct PromptCommand {
  std::string problem;
  std::vector<std::string> set;
  std::string language = "cpp";
  std::string target = "cpu";
  int threads = 1;
  std::string prompt_template = "zero_shot";
  std::string machine;
  bool json = false;
};

struct RejudgeCommand {
  std::string evidence;
  bool json = false;
};

struct CacheSizeCommand {
  bool json = false;
};

struct CacheCleanCommand {
  bool evidence = false;  // stored evidence too
  bool json = false;
};

struct DoctorCommand {
  bool json = false;
};

// Run by kernelwright-lm, which reads it as JSON, or by a server.
struct GenerateCommand {
  std::string model;                  // a Hugging Face folder, or a server's URL
  std::string prompt, chat, prompts;  // exactly one: text, a user's message, a .jsonl
  std::string system;                 // of --chat
  int n = 1;
  double temperature = 1, top_p = 1, min_p = 0;
  int top_k = 0, max_tokens = 256;
  std::vector<std::string> stop;
  std::string seed = "0";
  bool ignore_end = false;
  EngineOptions engine{.context = 0};
  bool json = false;
  ServerOptions server;  // where `model` is a URL
};
// Without `server`.
Json to_json(const GenerateCommand& command);

// Starts kernelwright-lm and serves its model over HTTP.
struct ServeModelCommand {
  std::string model;  // a Hugging Face folder
  std::string host = "127.0.0.1";
  int port = 8000;                       // 0: any free one
  std::string api_key;                   // empty: KERNELWRIGHT_API_KEY; that too: none is asked for
  std::string served_model_name;         // empty: the folder's
  std::string tls_certificate, tls_key;  // PEM files
  bool allow_plaintext = false;          // without TLS on others than loopback addresses
  int max_waiting = 256;                 // sequences beyond the slots: then 429
  int grace_seconds = 30;                // for answers under way, when it is asked to stop
  EngineOptions engine;
};

struct SolveCommand {
  std::string problem;  // one, or a data set
  std::vector<std::string> set;
  std::string proposer;  // writer, model, both, recorded; empty: by what else is given
  std::string model;     // a Hugging Face folder, or a server's URL
  ServerOptions server;  // of a URL
  std::string answers;   // of recorded: a .jsonl or a run's folder
  std::string verdicts;  // a run's folder, whose verdicts stand for the gym's
  double temperature = 1, top_p = 1;
  int max_tokens = 4096;
  double tokens_per_second = 0;  // that the model writes, for the plan's time; 0: not known
  EngineOptions engine{.context = 16384};  // of a local model; slots: of a server's too
  search::Settings search = {.method = ""};
  gym::EvalOptions eval;
  sandbox::Level isolation_at_least = sandbox::Level::kNone;
  std::string run;      // the folder; empty: a new one
  bool resume = false;  // go on with the run in it, with its settings
  bool plan = false;    // print the plan and leave
  bool json = false;
  std::vector<std::string> given;  // flags on the command line; not part of the settings
};

struct ReportCommand {
  std::vector<std::string> runs;
  std::string baseline;  // the run that the others are compared with; empty: the first
  std::string dataset;   // all problems that were asked
  std::string html;      // a page is written here
  std::string fast_p;    // "1,1.5"; empty: the default list
  bool json = false;
};

using Command =
    std::variant<HelpCommand, VersionCommand, EvalCommand, ProblemsListCommand, ProblemsShowCommand,
                 ProblemsCheckCommand, ProblemsTraceCommand, PromptCommand, RejudgeCommand,
                 CacheSizeCommand, CacheCleanCommand, DoctorCommand, ReportCommand, GenerateCommand,
                 ServeModelCommand, SolveCommand, DataImportCommand, DataDedupCommand,
                 DataDecontaminateCommand, DataSplitCommand, DataFilterCommand, DataTeachCommand,
                 DataStatsCommand, DataExportCommand, DataGenerateCommand>;

}  // namespace kw::front
