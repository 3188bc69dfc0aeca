#include "kernelwright/cli/data_command_line.h"

#include "kernelwright/cli/described_options.h"

namespace kw::front {
namespace {

void add_generate(CLI::App& data, DataGenerateCommand& o, const AddCommand& add) {
  CLI::App& c = *add(
      data, "generate", "make samples: generated problems, answered by the writer",
      [&o] { return o; }, "");
  add_described(c, o);
  c.get_option("--out")->required();
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

void add_samples(CLI::App& app, std::string& in, const char* help) {
  text(app, "DATA", in, "", help)->required();
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
  add_described(c, o);
  c.get_option("--out")->required();
}

void add_dedup(CLI::App& data, DataDedupCommand& o, const AddCommand& add) {
  CLI::App& c = *add(
      data, "dedup", "take out samples that say what an earlier one says", [&o] { return o; }, "");
  add_samples(c, o.in, kSamples);
  add_described(c, o);
  c.get_option("--out")->required();
}

void add_decontaminate(CLI::App& data, DataDecontaminateCommand& o, const AddCommand& add) {
  CLI::App& c = *add(
      data, "decontaminate", "take out samples that show a benchmark's problems",
      [&o] { return o; }, kDecontaminateFooter);
  add_samples(c, o.in, kSamples);
  add_described(c, o);
  c.get_option("--out")->required();
}

void add_filter(CLI::App& data, DataFilterCommand& o, const AddCommand& add) {
  CLI::App& c = *add(
      data, "filter", "judge every sample's answer in the gym, and keep what passes",
      [&o] { return o; }, kFilterFooter);
  add_samples(c, o.in, kSamples);
  add_described(c, o);
  c.get_option("--out")->required();
  target_name(c, "--target", o.eval.target, "NAME", "what candidates run on")->group("Judging");
  number(c, "--threads", o.eval.threads, "N", "for candidate and baseline")->group("Judging");
  number(c, "--max-seconds", o.eval.max_seconds, "S", "for measuring one workload")
      ->group("Judging");
  add_candidate_limits(c, "Judging", o.eval.timeout_seconds, o.memory, o.isolation, o.no_evidence);
  add_judge(c, o.judge, "Judging");
}

void add_teach(CLI::App& data, DataTeachCommand& o, const AddCommand& add) {
  CLI::App& c = *add(
      data, "teach", "let a server's model answer questions", [&o] { return o; }, kTeachFooter);
  add_samples(c, o.in, kSamples);
  add_described(c, o);
  c.get_option("--model")->required();
  c.get_option("--out")->required();
  add_server_options(c, o.server, true);
}

void add_split(CLI::App& data, DataSplitCommand& o, const AddCommand& add) {
  CLI::App& c = *add(
      data, "split", "cut by source problem, with held-out sets", [&o] { return o; }, kSplitFooter);
  add_samples(c, o.in, kSamples);
  add_described(c, o);
  c.get_option("--out")->required();
}

void add_stats(CLI::App& data, DataStatsCommand& o, const AddCommand& add) {
  CLI::App& c = *add(
      data, "stats", "count kinds, languages, operators, outcomes, lengths", [&o] { return o; },
      "");
  add_samples(c, o.in, kSamples);
  add_described(c, o);
}

void add_export(CLI::App& data, DataExportCommand& o, const AddCommand& add) {
  CLI::App& c =
      *add(data, "export", "write a folder for others, with a data card", [&o] { return o; }, "");
  add_samples(c, o.in, "samples, or the folder of a split");
  add_described(c, o);
  c.get_option("--out")->required();
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
