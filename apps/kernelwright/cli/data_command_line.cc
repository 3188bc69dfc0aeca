#include "kernelwright/cli/data_command_line.h"

namespace kw::front {
namespace {

void add_generate(CLI::App& data, DataGenerateCommand& generate, const AddCommand& add) {
  CLI::App& g = *add(
      data, "generate", "make samples: generated problems, answered by the writer",
      [&generate] { return generate; }, "");
  text(g, "--out", generate.out, "FILE", "JSON Lines (docs/formats/dataset.md)")->required();
  text(g, "--seed", generate.seed, "S", "of the stream");
  text(g, "--count", generate.count, "N", "samples; a longer file begins with the shorter one");
  number(g, "--workers", generate.workers, "W", "threads, 0: all cores; the file is the same");
  text(g, "--target", generate.language, "NAME", "language of the answers: cpp or triton");
  text(
      g, "--mix", generate.mix, "LIST",
      "parts of implement, convert, definition, repair and speedup; without it "
      "implement=42,convert=28,definition=15,repair=10,speedup=5, of triton speedup=0: its kernels "
      "are not timed");
  number(g, "--max-depth", generate.max_depth, "D", "operators of a problem, 1 to 8");
  text(
      g, "--max-elements", generate.max_elements, "N",
      "of a tensor; without it 33554432; of triton two smaller size sets with at most 16384, which "
      "the gym interprets");
  text(g, "--tiers", generate.tiers, "LIST", "difficulties, 1 to 5, as in 1,2; without it all");
  flag(g, "--json", generate.json, kJson);
}

constexpr const char* kImportFooter = R"(
  kernelwright data import KernelBook/dataset_permissive.parquet --out book.jsonl --licence MIT
  kernelwright data import KernelBench/level1 --language triton --out questions.jsonl
  kernelwright data import chats.jsonl --out chats-imported.jsonl --rejected bad.jsonl)";

constexpr const char* kDecontaminateFooter = R"(
  kernelwright data decontaminate book.jsonl --against KernelBench --out clean.jsonl --markdown removed.md)";

constexpr const char* kSplitFooter = R"(
Writes train.jsonl, validation.jsonl, test.jsonl, h1.jsonl (operator adjacencies that train never shows),
h2.jsonl (deeper graphs), unlabelled.jsonl (problems without operators: nobody knows whether they show
what is held out) and split.json.

  kernelwright data split clean.jsonl --out split --deeper-than 6)";

constexpr const char* kFilterFooter = R"(
What passes goes to --out with its verdict. Kill it at any time: --resume goes on from the log.

  kernelwright data filter raw.jsonl --out good.jsonl --rejected bad.jsonl --jobs 4
  kernelwright data filter generated.jsonl --out good.jsonl --per-cell 30)";

constexpr const char* kTeachFooter = R"(
Questions without an answer are asked; the answers go to --out. Kill it at any time: --resume goes on from the log.

  kernelwright data teach questions.jsonl --model http://127.0.0.1:8000 --out taught.jsonl
  kernelwright data teach questions.jsonl --model https://host/v1 --docs triton.md --out taught.jsonl)";

constexpr const char* kSamples = "samples, JSON lines (docs/formats/dataset.md)";

void list(CLI::App& app, const char* name, std::vector<std::string>& values, const char* type,
          const char* description) {
  app.add_option(name, values, description)->type_name(type)->allow_extra_args(false);
}

void add_output(CLI::App& app, std::string& out, bool& replace) {
  text(app, "--out", out, "FILE", "to write, whole or not at all")->required();
  flag(app, "--replace", replace, "files that are there");
}

void add_import(CLI::App& data, DataImportCommand& o, const AddCommand& add) {
  CLI::App& c = *add(
      data, "import", "turn other people's data sets into samples", [&o] { return o; },
      kImportFooter);
  c.add_option("INPUT", o.inputs,
               "KernelBook (.parquet, .jsonl), KernelBench (.py, .jsonl), FlashInfer-Bench "
               "definitions, chats (.jsonl), or folders of them; one or more")
      ->type_name("")
      ->required();
  add_output(c, o.out, o.replace);
  text(c, "--rejected", o.rejected, "FILE", "a line for each row that is no sample");
  text(c, "--dataset", o.dataset, "NAME", "of the origin; without it the input's name");
  list(c, "--licence", o.licences, "NAME",
       "take only rows whose licences are all among these; may be given again");
  text(c, "--language", o.language, "NAME", "asked for, where a problem has no answer");
  flag(c, "--questions", o.questions, "leave answers out: data teach can give others");
  flag(c, "--trace", o.trace,
       "run the references to name the operators, which data split and decontaminate need");
  number(c, "--jobs", o.jobs, "N", "references at once");
  flag(c, "--json", o.json, kJson);
}

void add_dedup(CLI::App& data, DataDedupCommand& o, const AddCommand& add) {
  CLI::App& c = *add(
      data, "dedup", "take out samples that say what an earlier one says", [&o] { return o; }, "");
  text(c, "DATA", o.in, "", kSamples)->required();
  add_output(c, o.out, o.replace);
  text(c, "--by", o.by, "NAME", "what is compared: problem, answer or both");
  number(c, "--threshold", o.threshold, "T",
         "Jaccard similarity of token shingles of near duplicates, from 0.3; 0: equal ones only");
  text(c, "--removed", o.removed, "FILE", "a line for each that is taken out");
  flag(c, "--json", o.json, kJson);
}

void add_decontaminate(CLI::App& data, DataDecontaminateCommand& o, const AddCommand& add) {
  CLI::App& c = *add(
      data, "decontaminate", "take out samples that show a benchmark's problems",
      [&o] { return o; }, kDecontaminateFooter);
  text(c, "DATA", o.in, "", kSamples)->required();
  list(c, "--against", o.against, "BENCH", "problems as for eval, or many; may be given again");
  add_output(c, o.out, o.replace);
  number(c, "--overlap", o.overlap, "SHARE", "of a problem's own token shingles");
  flag(c, "--trace", o.trace, "compare operator graphs too: runs the benchmark's references");
  text(c, "--report", o.report, "FILE", "a line for each that is taken out");
  text(c, "--markdown", o.markdown, "FILE", "a table by problem");
  flag(c, "--json", o.json, kJson);
}

void add_filter(CLI::App& data, DataFilterCommand& o, const AddCommand& add) {
  CLI::App& c = *add(
      data, "filter", "judge every sample's answer in the gym, and keep what passes",
      [&o] { return o; }, kFilterFooter);
  text(c, "DATA", o.in, "", kSamples)->required();
  add_output(c, o.out, o.replace);
  text(c, "--rejected", o.rejected, "FILE", "a line for each that goes, with the reason");
  text(c, "--log", o.log, "FILE", "of findings, only ever appended to; without it OUT.log.jsonl");
  flag(c, "--resume", o.resume, "go on with a log that is there");
  number(c, "--jobs", o.jobs, "N", "samples at once; timing is never parallel");
  number(c, "--per-cell", o.per_cell, "N",
         "of a generator's samples judge N of each operator x strategy x language, and drop cells "
         "that fail; 0: all");
  text(c, "--small-cells", o.small_cells, "NAME",
       "cells with fewer than N that can be judged: keep, drop or fail");
  text(c, "--seed", o.seed, "S", "of that choice");
  number(c, "--tries", o.tries, "N", "of a judgement that failed through no fault of the sample");
  number(c, "--retry-seconds", o.retry_seconds, "S", "before the second try, doubled each time");
  flag(c, "--skip-failed", o.skip_failed, "leave out what could not be judged");
  flag(c, "--json", o.json, kJson);
  text(c, "--target", o.eval.target, "NAME", "what candidates run on")->group("Judging");
  flag(c, "--timing", o.timing, "measure speedups; speed-up samples are always timed")
      ->group("Judging");
  number(c, "--threads", o.eval.threads, "N", "for candidate and baseline")->group("Judging");
  number(c, "--max-seconds", o.eval.max_seconds, "S", "for measuring one workload")
      ->group("Judging");
  add_candidate_limits(c, "Judging", o.eval.timeout_seconds, o.memory, o.isolation, o.no_evidence);
}

void add_teach(CLI::App& data, DataTeachCommand& o, const AddCommand& add) {
  CLI::App& c = *add(
      data, "teach", "let a server's model answer questions", [&o] { return o; }, kTeachFooter);
  text(c, "DATA", o.in, "", kSamples)->required();
  text(c, "--model", o.model, "URL", "of a server with OpenAI's API")->required();
  add_output(c, o.out, o.replace);
  text(c, "--log", o.log, "FILE", "of answers, only ever appended to; without it OUT.log.jsonl");
  flag(c, "--resume", o.resume, "go on with a log that is there");
  text(c, "--docs", o.docs, "FILE", "documentation that the teacher reads before the question");
  text(c, "--docs-for", o.docs_for, "NAME",
       "pairs: each question without it and with it; all: only with it");
  flag(c, "--again", o.again, "ask what has an answer too, and replace it");
  flag(c, "--with-reasoning", o.with_reasoning,
       "write the reasoning that the server gave apart as <think>...</think> before the answer");
  number(c, "--answers", o.answers, "N", "to each question");
  number(c, "--temperature", o.temperature, "T", "0: the likeliest token");
  number(c, "--top-p", o.top_p, "P", "of the likeliest tokens that reach P together");
  number(c, "--max-tokens", o.max_tokens, "M", "of each answer");
  text(c, "--seed", o.seed, "S", "of the requests' seeds");
  number(c, "--slots", o.slots, "N", "requests at once");
  number(c, "--most-failures", o.most_failures, "N", "one after the other, before it gives up");
  flag(c, "--json", o.json, kJson);
  add_server_options(c, o.server, true);
}

void add_split(CLI::App& data, DataSplitCommand& o, const AddCommand& add) {
  CLI::App& c = *add(
      data, "split", "cut by source problem, with held-out sets", [&o] { return o; }, kSplitFooter);
  text(c, "DATA", o.in, "", kSamples)->required();
  text(c, "--out", o.out, "DIR", "for the parts")->required();
  text(c, "--seed", o.seed, "S", "of all choices");
  number(c, "--validation", o.validation, "SHARE", "of the groups that are not held out");
  number(c, "--test", o.test, "SHARE", "of the groups that are not held out");
  number(c, "--held-out", o.adjacencies, "SHARE", "of the pairs of adjacent operators: H1");
  number(c, "--most-common", o.most_common, "SHARE",
         "of the samples; pairs in more are not held out");
  number(c, "--deeper-than", o.deeper_than, "N", "operators on the longest path: H2; 0: none");
  text(c, "--unlabelled", o.unlabelled, "NAME",
       "problems whose operators nobody named: aside (a part of their own), train or fail");
  flag(c, "--json", o.json, kJson);
}

void add_stats(CLI::App& data, DataStatsCommand& o, const AddCommand& add) {
  CLI::App& c = *add(
      data, "stats", "count kinds, languages, operators, outcomes, lengths", [&o] { return o; },
      "");
  text(c, "DATA", o.in, "", kSamples)->required();
  text(c, "--removed", o.removed, "FILE", "of data dedup --removed: what it took out, too");
  text(c, "--decontaminated", o.decontaminated, "FILE",
       "of data decontaminate --report: what it took out, too");
  text(c, "--html", o.html, "FILE", "write a page with the distributions here");
  flag(c, "--json", o.json, kJson);
}

void add_export(CLI::App& data, DataExportCommand& o, const AddCommand& add) {
  CLI::App& c =
      *add(data, "export", "write a folder for others, with a data card", [&o] { return o; }, "");
  text(c, "DATA", o.in, "", "samples, or the folder of a split")->required();
  text(c, "--out", o.out, "DIR", "a new folder")->required();
  text(c, "--format", o.format, "NAME", "jsonl or parquet");
  text(c, "--name", o.name, "NAME", "on the card; without it the folder's");
  flag(c, "--unanswered", o.unanswered, "samples without an answer too");
  flag(c, "--json", o.json, kJson);
}

}  // namespace

void add_data_commands(CLI::App& data, DataCommands& commands, const AddCommand& add) {
  add_generate(data, commands.generate, add);
  add_import(data, commands.import, add);
  add_dedup(data, commands.dedup, add);
  add_decontaminate(data, commands.decontaminate, add);
  add_filter(data, commands.filter, add);
  add_teach(data, commands.teach, add);
  add_split(data, commands.split, add);
  add_stats(data, commands.stats, add);
  add_export(data, commands.export_, add);
}

}  // namespace kw::front
