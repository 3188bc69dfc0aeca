// Training samples from the generator of problems and the writer: a seeded stream without an end.
#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/sample.h"
#include "task/candidate.h"
#include "writer/generate/generate.h"

namespace kw::data {

// How often each kind comes, as parts of their sum.
struct Mix {
  double implement = 42, convert = 28, definition = 15, repair = 10, speedup = 5;
};
// "implement=60,convert=40": the others are 0. kInvalidArgument names a word that is no kind.
Result<Mix> mix_from_text(std::string_view text);

struct GenerateOptions {
  std::uint64_t seed = 1;
  std::uint64_t count = 1000;
  int workers = 0;  // threads; 0: all cores
  task::Language language = task::Language::kCpp;
  Mix mix;
  writer::GeneratorOptions problems;
  std::string question_template;         // of `convert` and `definition`; empty: drawn
  std::string strategy;                  // of all answers, with its usual numbers; empty: drawn
  std::vector<std::string> build_flags;  // flags that prompts mention; the same as in PromptOptions
};

// Sample `index` of the stream: depends on the options but count and workers. Thread-safe.
Result<Sample> generate_sample(const GenerateOptions& options, std::uint64_t index);

struct GenerateCounts {
  std::uint64_t rows = 0, bytes = 0;  // in the file
  std::uint64_t before = 0;           // rows that were there already
};
using GenerateProgress = std::function<void(const GenerateCounts&)>;

// Writes samples 0 to count - 1, one a line, to PATH.partial, which becomes PATH when all are
// there; the bytes are the same for any number of workers. An interrupted run goes on behind the
// last whole line, and one for more samples is cut to this count. kAlreadyExists where PATH is
// there, or another run writes it; kInvalidArgument where the partial file is not of this stream;
// kCancelled when stopped, and the lines stay.
Result<GenerateCounts> generate_file(const std::filesystem::path& path,
                                     const GenerateOptions& options,
                                     const GenerateProgress& progress, const std::stop_token& stop);

}  // namespace kw::data
