// The options of the commands of kernelwright data: plain structs with the defaults.
#pragma once
#include <string>
#include <vector>

#include "base/option_facts.h"
#include "gym/gym.h"
#include "kernelwright/cli/server_options.h"

namespace kw::front {

inline constexpr const char* kJsonHelp = "print JSON, one object a line";

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
  std::string operators;     // "relu,sum"; empty: all
  std::string question;      // the template of questions; empty: drawn
  std::string strategy;      // of the answers; empty: drawn
  bool json = false;
};

template <OptionsOf<DataGenerateCommand> Options, typename Visit>
void describe(Options& o, Visit&& visit) {
  using Facts = OptionFacts;
  visit("out", o.out, Facts{"--out", "FILE", "", "JSON Lines (docs/formats/dataset.md)"});
  visit("seed", o.seed, Facts{"--seed", "S", "", "of the stream"});
  visit("count", o.count,
        Facts{"--count", "N", "", "samples; a longer file begins with the shorter one"});
  visit("workers", o.workers,
        Facts{"--workers", "W", "", "threads, 0: all cores; the file is the same", 0, 1024});
  visit("target", o.language,
        Facts{"--target", "NAME", "", "language of the answers: cpp or triton"});
  visit("mix", o.mix,
        Facts{"--mix", "LIST", "",
              "parts of implement, convert, definition, repair and speedup; without it "
              "implement=42,convert=28,definition=15,repair=10,speedup=5, of triton speedup=0: its "
              "kernels are not timed"});
  visit("max_depth", o.max_depth,
        Facts{"--max-depth", "D", "", "operators of a problem, 1 to 8", 1, 8});
  visit("max_elements", o.max_elements,
        Facts{"--max-elements", "N", "",
              "of a tensor; without it 33554432; of triton two smaller size sets with at most "
              "16384, which the gym interprets"});
  visit("tiers", o.tiers,
        Facts{"--tiers", "LIST", "", "difficulties, 1 to 5, as in 1,2; without it all"});
  visit("operators", o.operators,
        Facts{"--operators", "LIST", "",
              "problems of these operators alone, as in relu,sum (the label made_of names them); "
              "without it all"});
  visit("question", o.question,
        Facts{"--template", "NAME", "",
              "of all questions (convert and definition alone have one); without it drawn"});
  visit(
      "strategy", o.strategy,
      Facts{"--strategy", "NAME", "", "of all answers, with its usual numbers; without it drawn"});
  visit("json", o.json, Facts{"--json", "", "", kJsonHelp});
}

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

template <OptionsOf<DataImportCommand> Options, typename Visit>
void describe(Options& o, Visit&& visit) {
  using Facts = OptionFacts;
  visit("out", o.out, Facts{"--out", "FILE", "", "to write, whole or not at all"});
  visit("replace", o.replace, Facts{"--replace", "", "", "files that are there"});
  visit("rejected", o.rejected,
        Facts{"--rejected", "FILE", "", "a line for each row that is no sample"});
  visit("dataset", o.dataset,
        Facts{"--dataset", "NAME", "", "of the origin; without it the input's name"});
  visit("licences", o.licences,
        Facts{"--licence", "NAME", "",
              "take only rows whose licences are all among these; may be given again"});
  visit("language", o.language,
        Facts{"--language", "NAME", "", "asked for, where a problem has no answer"});
  visit("questions", o.questions,
        Facts{"--questions", "", "", "leave answers out: data teach can give others"});
  visit("trace", o.trace,
        Facts{"--trace", "", "",
              "run the references to name the operators, which data split and decontaminate need"});
  visit("jobs", o.jobs, Facts{"--jobs", "N", "", "references at once", 1, 1024});
  visit("json", o.json, Facts{"--json", "", "", kJsonHelp});
}

struct DataDedupCommand {
  std::string in, out, removed;
  std::string by = "both";  // problem, answer, both
  double threshold = 0.85;
  bool replace = false, json = false;
};

template <OptionsOf<DataDedupCommand> Options, typename Visit>
void describe(Options& o, Visit&& visit) {
  using Facts = OptionFacts;
  visit("out", o.out, Facts{"--out", "FILE", "", "to write, whole or not at all"});
  visit("replace", o.replace, Facts{"--replace", "", "", "files that are there"});
  visit("by", o.by, Facts{"--by", "NAME", "", "what is compared: problem, answer or both"});
  visit(
      "threshold", o.threshold,
      Facts{"--threshold", "T", "",
            "Jaccard similarity of token shingles of near duplicates, from 0.3; 0: equal ones only",
            0, 1});
  visit("removed", o.removed, Facts{"--removed", "FILE", "", "a line for each that is taken out"});
  visit("json", o.json, Facts{"--json", "", "", kJsonHelp});
}

struct DataDecontaminateCommand {
  std::string in, out;
  std::vector<std::string> against;  // benchmarks: as for eval, or folders and .jsonl of many
  double overlap = 0.5;
  bool trace = false;            // the benchmarks' graphs too
  std::string report, markdown;  // files; empty: none
  bool replace = false, json = false;
};

template <OptionsOf<DataDecontaminateCommand> Options, typename Visit>
void describe(Options& o, Visit&& visit) {
  using Facts = OptionFacts;
  visit("against", o.against,
        Facts{"--against", "BENCH", "", "problems as for eval, or many; may be given again"});
  visit("out", o.out, Facts{"--out", "FILE", "", "to write, whole or not at all"});
  visit("replace", o.replace, Facts{"--replace", "", "", "files that are there"});
  visit("overlap", o.overlap,
        Facts{"--overlap", "SHARE", "", "of a problem's own token shingles", 0.05, 1});
  visit("trace", o.trace,
        Facts{"--trace", "", "", "compare operator graphs too: runs the benchmark's references"});
  visit("report", o.report, Facts{"--report", "FILE", "", "a line for each that is taken out"});
  visit("markdown", o.markdown, Facts{"--markdown", "FILE", "", "a table by problem"});
  visit("json", o.json, Facts{"--json", "", "", kJsonHelp});
}

struct DataSplitCommand {
  std::string in, out;  // a file; a folder
  std::string seed = "0";
  double validation = 0.02, test = 0.02, adjacencies = 0.02, most_common = 0.02;
  int deeper_than = 10;
  std::string unlabelled = "aside";  // train, fail
  bool json = false;
};

template <OptionsOf<DataSplitCommand> Options, typename Visit>
void describe(Options& o, Visit&& visit) {
  using Facts = OptionFacts;
  visit("out", o.out, Facts{"--out", "DIR", "", "for the parts"});
  visit("seed", o.seed, Facts{"--seed", "S", "", "of all choices"});
  visit("validation", o.validation,
        Facts{"--validation", "SHARE", "", "of the groups that are not held out", 0, 0.9});
  visit("test", o.test,
        Facts{"--test", "SHARE", "", "of the groups that are not held out", 0, 0.9});
  visit("held_out", o.adjacencies,
        Facts{"--held-out", "SHARE", "", "of the pairs of adjacent operators: H1", 0, 1});
  visit(
      "most_common", o.most_common,
      Facts{"--most-common", "SHARE", "", "of the samples; pairs in more are not held out", 0, 1});
  visit("deeper_than", o.deeper_than,
        Facts{"--deeper-than", "N", "", "operators on the longest path: H2; 0: none", 0, 1e6});
  visit("unlabelled", o.unlabelled,
        Facts{"--unlabelled", "NAME", "",
              "problems whose operators nobody named: aside (a part of their own), train or fail"});
  visit("json", o.json, Facts{"--json", "", "", kJsonHelp});
}

struct DataStatsCommand {
  std::string in;
  std::string html;                     // a page is written here
  std::string removed, decontaminated;  // what dedup and decontaminate wrote beside; empty: none
  bool json = false;
};

template <OptionsOf<DataStatsCommand> Options, typename Visit>
void describe(Options& o, Visit&& visit) {
  using Facts = OptionFacts;
  visit("removed", o.removed,
        Facts{"--removed", "FILE", "", "of data dedup --removed: what it took out, too"});
  visit("decontaminated", o.decontaminated,
        Facts{"--decontaminated", "FILE", "",
              "of data decontaminate --report: what it took out, too"});
  visit("html", o.html, Facts{"--html", "FILE", "", "write a page with the distributions here"});
  visit("json", o.json, Facts{"--json", "", "", kJsonHelp});
}

struct DataExportCommand {
  std::string in, out;  // a file or a split's folder; a folder
  std::string format = "jsonl";
  bool unanswered = false;  // questions alone too
  std::string name;         // on the card; empty: the folder's
  bool json = false;
};

template <OptionsOf<DataExportCommand> Options, typename Visit>
void describe(Options& o, Visit&& visit) {
  using Facts = OptionFacts;
  visit("out", o.out, Facts{"--out", "DIR", "", "a new folder"});
  visit("format", o.format, Facts{"--format", "NAME", "", "jsonl or parquet"});
  visit("name", o.name, Facts{"--name", "NAME", "", "on the card; without it the folder's"});
  visit("unanswered", o.unanswered, Facts{"--unanswered", "", "", "samples without an answer too"});
  visit("json", o.json, Facts{"--json", "", "", kJsonHelp});
}

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
  ServiceAddress judge;
  bool timing = false, no_evidence = false;
  gym::EvalOptions eval;
};

template <OptionsOf<DataFilterCommand> Options, typename Visit>
void describe(Options& o, Visit&& visit) {
  using Facts = OptionFacts;
  visit("out", o.out, Facts{"--out", "FILE", "", "to write, whole or not at all"});
  visit("replace", o.replace, Facts{"--replace", "", "", "files that are there"});
  visit("rejected", o.rejected,
        Facts{"--rejected", "FILE", "", "a line for each that goes, with the reason"});
  visit("log", o.log,
        Facts{"--log", "FILE", "", "of findings, only ever appended to; without it OUT.log.jsonl"});
  visit("resume", o.resume, Facts{"--resume", "", "", "go on with a log that is there"});
  visit("jobs", o.jobs,
        Facts{"--jobs", "N", "", "samples at once; timing is never parallel", 1, 1024});
  visit("per_cell", o.per_cell,
        Facts{"--per-cell", "N", "",
              "of a generator's samples judge N of each operator x strategy x language, and drop "
              "cells that fail; 0: all",
              0, 1e6});
  visit("small_cells", o.small_cells,
        Facts{"--small-cells", "NAME", "",
              "cells with fewer than N that can be judged: keep, drop or fail"});
  visit("seed", o.seed, Facts{"--seed", "S", "", "of that choice"});
  visit("tries", o.tries,
        Facts{"--tries", "N", "", "of a judgement that failed through no fault of the sample", 1,
              1000});
  visit("retry_seconds", o.retry_seconds,
        Facts{"--retry-seconds", "S", "", "before the second try, doubled each time", 0, 3600});
  visit("skip_failed", o.skip_failed,
        Facts{"--skip-failed", "", "", "leave out what could not be judged"});
  visit("json", o.json, Facts{"--json", "", "", kJsonHelp});
  visit("timing", o.timing,
        Facts{"--timing", "", "Judging", "measure speedups; speed-up samples are always timed"});
}

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

template <OptionsOf<DataTeachCommand> Options, typename Visit>
void describe(Options& o, Visit&& visit) {
  using Facts = OptionFacts;
  visit("model", o.model, Facts{"--model", "URL", "", "of a server with OpenAI's API"});
  visit("out", o.out, Facts{"--out", "FILE", "", "to write, whole or not at all"});
  visit("replace", o.replace, Facts{"--replace", "", "", "files that are there"});
  visit("log", o.log,
        Facts{"--log", "FILE", "", "of answers, only ever appended to; without it OUT.log.jsonl"});
  visit("resume", o.resume, Facts{"--resume", "", "", "go on with a log that is there"});
  visit("docs", o.docs,
        Facts{"--docs", "FILE", "", "documentation that the teacher reads before the question"});
  visit("docs_for", o.docs_for,
        Facts{"--docs-for", "NAME", "",
              "pairs: each question without it and with it; all: only with it"});
  visit("again", o.again, Facts{"--again", "", "", "ask what has an answer too, and replace it"});
  visit("with_reasoning", o.with_reasoning,
        Facts{"--with-reasoning", "", "",
              "write the reasoning that the server gave apart as <think>...</think> before the "
              "answer"});
  visit("answers", o.answers, Facts{"--answers", "N", "", "to each question", 1, 1000});
  visit("temperature", o.temperature,
        Facts{"--temperature", "T", "", "0: the likeliest token", 0, 100});
  visit("top_p", o.top_p,
        Facts{"--top-p", "P", "", "of the likeliest tokens that reach P together", 0, 1});
  visit("max_tokens", o.max_tokens, Facts{"--max-tokens", "M", "", "of each answer", 1, 1 << 24});
  visit("seed", o.seed, Facts{"--seed", "S", "", "of the requests' seeds"});
  visit("slots", o.slots, Facts{"--slots", "N", "", "requests at once", 1, 1024});
  visit("most_failures", o.most_failures,
        Facts{"--most-failures", "N", "", "one after the other, before it gives up", 1, 1e6});
  visit("json", o.json, Facts{"--json", "", "", kJsonHelp});
}

}  // namespace kw::front
