#include "data_command_line.h"

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
  text(g, "--mix", generate.mix, "LIST",
       "parts of implement, convert, definition, repair and speedup; without it "
       "implement=42,convert=28,definition=15,repair=10,speedup=5");
  number(g, "--max-depth", generate.max_depth, "D", "operators of a problem, 1 to 8");
  text(g, "--max-elements", generate.max_elements, "N", "of a tensor");
  flag(g, "--json", generate.json, kJson);
}

}  // namespace

void add_data_commands(CLI::App& data, DataCommands& commands, const AddCommand& add) {
  add_generate(data, commands.generate, add);
}

}  // namespace kw::front
