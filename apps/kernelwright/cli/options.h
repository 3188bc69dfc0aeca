// The options of each command: plain structs with the defaults, filled by command_line.h.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gym/gym.h"
#include "kernelwright/cli/data_options.h"
#include "kernelwright/cli/engine_options.h"
#include "kernelwright/cli/launch_options.h"
#include "kernelwright/cli/server_options.h"
#include "kernelwright/cli/service_address.h"
#include "link/generate_request.h"
#include "search/settings.h"
#include "task/target.h"

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
  int jobs = 1;  // evaluations in flight
  ServiceAddress judge;
  std::string language;  // of the candidates; empty: by file
  std::vector<std::string>
      set;  // problem constants, the words after --set without those that are settings
  gym::EvalOptions options;        // but for its baseline, see complete_options()
  std::string baseline = "eager";  // eager, compile or a candidate's file
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
  int jobs = 1;  // problems at once
  ServiceAddress judge;
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
  task::Target target = task::Target::kCpu;
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
  link::GenerateRequest request;      // how answers are drawn, without prompt and seed
  std::string seed = "0";
  EngineOptions engine{.context = 0};
  bool json = false;
  ServerOptions server;  // where `model` is a URL
};
// Without `server`.
Json to_json(const GenerateCommand& command);

// Run by kernelwright-lm, which reads it as JSON.
struct ModelImportCommand {
  std::string file;               // GGUF
  std::string out;                // a folder without a model
  std::string dtype = "float32";  // of the weights that are written: float32, bfloat16
  std::string cut_vocabulary;     // .jsonl whose tokens are kept; empty: all are
};
Json to_json(const ModelImportCommand& command);

// Writes a model with a LoRA adapter added to its weights.
struct ModelMergeCommand {
  std::string model;    // a folder
  std::string adapter;  // PEFT's folder
  std::string out;      // a folder without a model
  std::string dtype;    // float32 or bfloat16; empty: the model's
};
Json to_json(const ModelMergeCommand& command);

// Starts kernelwright-lm and serves its model over HTTP.
struct ServeModelCommand {
  std::string model;  // a Hugging Face folder
  std::string host = "127.0.0.1";
  int port = 8000;                       // 0: any free one
  std::string api_key;                   // empty: KERNELWRIGHT_API_KEY; that too: none is asked for
  std::string served_model_name;         // empty: the folder's
  std::string tls_certificate, tls_key;  // PEM files
  bool self_signed = false;              // with a certificate made at the start
  bool allow_plaintext = false;          // without TLS on others than loopback addresses
  std::string address_file;              // written when it listens; empty: none
  std::string public_name;               // in that file and in a certificate made at the start
  int max_waiting = 256;                 // sequences beyond the slots: then 429
  int grace_seconds = 30;                // for answers under way, when it is asked to stop
  EngineOptions engine;
};

// Keeps a queue of judgements for workers (docs/service.md).
struct ServeCommand {
  std::string data;                      // folder of the tasks' database
  std::string host = "127.0.0.1";        // others than loopback addresses need tokens
  int port = 8100;                       // 0: any free one
  std::string tokens;                    // a file of tokens, one a line; empty: none is asked for
  std::string tls_certificate, tls_key;  // PEM files
  bool self_signed = false;              // with a certificate made at the start
  bool allow_plaintext = false;          // without TLS on others than loopback addresses
  std::string address_file;              // written when it listens; empty: none
  std::string public_name;               // in that file and in a certificate made at the start
  double lease_seconds = 30;             // until a silent worker counts as lost
  std::string store;                     // redis://HOST:PORT/DATABASE; empty: SQLite in `data`
  int most_connections = 4096;           // of clients and workers, each of which waits on one
  double unserved_seconds = 300;         // as TaskOptions::unserved
  double leader_lease_seconds = 10;      // until another server takes the place of a silent one
  bool accept_everysec = false;          // as of service::RedisOptions
  bool allow_plaintext_store = false;    // a Redis of another machine, without TLS
};

// Judges what a service leases to it.
struct WorkerCommand {
  ServiceAddress server;
  std::string name;             // empty: host and process
  std::string state;            // file of the leases that it has; empty: none
  std::string stage = "judge";  // or compile: ahead, for others that judge
  std::string compile_for;      // architecture of the GPUs, with compile
  int jobs = 1;                 // judgements in flight; timing is never parallel
  sandbox::Level isolation_at_least = sandbox::Level::kNone;
};

// Puts judgements into a service's queue.
struct SubmitCommand {
  std::string problem;
  std::vector<std::string> candidates;
  ServiceAddress server;
  std::string group;     // they can be waited for under this name; empty: a new one
  std::string language;  // of the candidates; empty: by file
  std::vector<std::string> set;
  gym::EvalOptions options;  // but for its baseline, see complete_options()
  std::string baseline = "eager";
  int priority = 0;
  double deadline_seconds = 0;  // from the acceptance to the verdict; 0: none
  sandbox::Level isolation_at_least = sandbox::Level::kNone;  // of the worker that judges
  bool json = false;
};

// Shows a service's queue, or a group of it.
struct QueueCommand {
  ServiceAddress server;
  std::string group;  // empty: the whole queue
  bool wait = false;  // until all of the group has ended
  bool json = false;
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
  gym::EvalOptions eval;  // but for its baseline, see complete_options()
  // eager, compile or a candidate's file; nullopt: as `eval` has it, which a stored run gave.
  std::optional<std::string> baseline = "eager";
  sandbox::Level isolation_at_least = sandbox::Level::kNone;
  ServiceAddress judge;  // of this start alone
  std::string run;       // the folder; empty: a new one
  bool resume = false;   // go on with the run in it, with its settings
  bool plan = false;     // print the plan and leave
  bool json = false;
  std::vector<std::string> given;  // flags on the command line; not part of the settings
};

// Visits the command's own settings; those of its other members have descriptions of their own.
template <OptionsOf<SolveCommand> Options, typename Visit>
void describe(Options& o, Visit&& visit) {
  using Facts = OptionFacts;
  const char* const group = "Who proposes";
  visit("problem", o.problem, Facts{""});  // the command's word
  visit("set", o.set, Facts{""});          // --set, which also names settings
  visit("proposer", o.proposer,
        Facts{"--proposer", "NAME", group,
              "writer, model, both or recorded; without it model with --model, recorded with "
              "--answers, else writer"});
  visit("model", o.model,
        Facts{"--model", "DIR|URL", group,
              "Hugging Face folder of a Qwen or Llama model, or a server with OpenAI's API"});
  visit("answers", o.answers,
        Facts{"--answers", "FILE", group, "recorded answers: a .jsonl, or a run's folder"});
  visit("verdicts", o.verdicts,
        Facts{"--verdicts", "DIR", group,
              "a run's folder, whose verdicts stand for the gym's: with --answers DIR it replays"});
  visit("temperature", o.temperature,
        Facts{"--temperature", "T", group, "0: the likeliest token", 0, 100});
  visit("top_p", o.top_p,
        Facts{"--top-p", "P", group, "of the likeliest tokens that reach P together", 0, 1});
  visit("max_tokens", o.max_tokens,
        Facts{"--max-tokens", "M", group, "of each answer", 1, 1 << 24});
  visit("tokens_per_second", o.tokens_per_second,
        Facts{"--tokens-per-second", "N", group,
              "that the model writes, all answers in flight together: for the plan's time; 0: not "
              "known",
              0, 1e9});
}

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
                 ServeModelCommand, ModelImportCommand, ModelMergeCommand, ServeCommand,
                 LaunchLocalCommand, LaunchSlurmCommand, LaunchRayCommand, WorkerCommand,
                 SubmitCommand, QueueCommand, SolveCommand, DataImportCommand, DataDedupCommand,
                 DataDecontaminateCommand, DataSplitCommand, DataFilterCommand, DataTeachCommand,
                 DataStatsCommand, DataExportCommand, DataGenerateCommand>;

}  // namespace kw::front
