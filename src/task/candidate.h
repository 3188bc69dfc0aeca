// Candidate: source files with a language and an entry point, to be judged against a problem.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "task/language.h"
#include "task/launch.h"

namespace kw::task {

struct SourceFile {
  std::string path;  // relative, without ".."
  std::string content;
};

// Where a file stands in a KernelBench run: level_<L>_problem_<id>_sample_<s>_kernel.py.
struct KernelBenchSample {
  std::int64_t level = 0, problem_id = 0, sample_id = 0;
};

// FlashInfer-Bench's Solution with our additions. A bare file has one source, entry_file its name.
struct Candidate {
  std::string name;
  std::string definition;  // problem name it was written for; empty: any
  std::string author;
  std::string description;
  Language language = Language::kCpp;
  std::vector<std::string> target_hardware;
  std::string entry_file;      // of "file::function"
  std::string entry_function;  // run, or ModelNew for module candidates (empty: found by looking)
  std::vector<std::string> dependencies;
  bool destination_passing = true;  // python: run(inputs..., outputs...) instead of returning; bare
                                    // .py files: decided by the leaf from the signature
  bool destination_passing_given = false;
  std::string binding;             // "", "tvm-ffi", "torch"
  std::vector<std::string> flags;  // from the allow-list, of the spec or a "// flags:" comment
  std::vector<SourceFile> sources;
  std::vector<LaunchDescriptor>
      launches;  // device-only cuda, ptx, cubin: the kernels to launch, in order
  std::vector<ScratchDescriptor> scratch;   // theirs
  std::optional<KernelBenchSample> sample;  // files of a KernelBench run only
  std::string hash;  // SHA-256 over language, entry, flags, binding, DPS and sources; not the name

  const SourceFile* entry_source() const;
};

std::string candidate_hash(const Candidate& candidate);

}  // namespace kw::task
