// What the commands of kernelwright data were asked to do: plain structs with the defaults.
#pragma once
#include <string>
#include <vector>

#include "gym/gym.h"
#include "kernelwright/cli/server_options.h"

namespace kw::front {

// Problems of the generator, answered by the writer.
struct DataGenerateCommand {
  std::string out;  // the file
  std::string seed = "1", count = "1000";
  int workers = 0;               // 0: all cores
  std::string language = "cpp";  // of the answers
  std::string mix;               // "implement=60,convert=40"; empty: the default
  int max_depth = 8;
  std::string max_elements;  // empty: the default
  std::string tiers;         // "1,2"; empty: all
  bool json = false;
};

struct DataImportCommand {
  std::vector<std::string> inputs;  // files and folders
  std::string out;
  std::string rejected;  // a line for each row that is no sample; empty: none
  std::string dataset;   // the origin's name; empty: the input's
  std::string language = "triton";
  std::vector<std::string> licences;
  bool questions = false;  // without the answers that rows have
  bool trace = false;      // run the references, for the operators' names
  int jobs = 1;            // references at once
  bool replace = false, json = false;
};

struct DataDedupCommand {
  std::string in, out, removed;
  std::string by = "both";  // problem, answer, both
  double threshold = 0.85;
  bool replace = false, json = false;
};

struct DataDecontaminateCommand {
  std::string in, out;
  std::vector<std::string> against;  // benchmarks: as for eval, or folders and .jsonl of many
  double overlap = 0.5;
  bool trace = false;            // the benchmarks' graphs too
  std::string report, markdown;  // files; empty: none
  bool replace = false, json = false;
};

struct DataSplitCommand {
  std::string in, out;  // a file; a folder
  std::string seed = "0";
  double validation = 0.02, test = 0.02, adjacencies = 0.02, most_common = 0.02;
  int deeper_than = 10;
  std::string unlabelled = "aside";  // train, fail
  bool json = false;
};

struct DataStatsCommand {
  std::string in;
  std::string html;                     // a page is written here
  std::string removed, decontaminated;  // what dedup and decontaminate wrote beside; empty: none
  bool json = false;
};

struct DataExportCommand {
  std::string in, out;  // a file or a split's folder; a folder
  std::string format = "jsonl";
  bool unanswered = false;  // questions alone too
  std::string name;         // on the card; empty: the folder's
  bool json = false;
};

struct DataFilterCommand {
  std::string in, out;
  std::string log;       // empty: OUT.log.jsonl
  std::string rejected;  // a line for each that goes; empty: none
  bool resume = false;   // go on with a log that is there
  bool skip_failed = false, replace = false, json = false;
  int jobs = 1, tries = 3, per_cell = 0;
  std::string small_cells = "keep";  // drop, fail
  double retry_seconds = 2;
  std::string seed = "0", isolation = "none", memory = "0";
  bool timing = false, no_evidence = false;
  gym::EvalOptions eval;
};

struct DataTeachCommand {
  std::string in, out;
  std::string log;    // empty: OUT.log.jsonl
  std::string model;  // a server's URL
  ServerOptions server;
  std::string docs;                // a file; empty: none
  std::string docs_for = "pairs";  // all, pairs
  bool with_reasoning = false;     // <think>...</think> before the answers
  bool resume = false, again = false, replace = false, json = false;
  int answers = 1, max_tokens = 4096, slots = 16, most_failures = 20;
  double temperature = 1, top_p = 1;
  std::string seed = "0";
};

}  // namespace kw::front
