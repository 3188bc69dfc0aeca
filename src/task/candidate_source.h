// The front door for candidates: source files, FlashInfer-Bench solutions, KernelBench run folders.
// docs/formats/solution.md.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "task/candidate.h"

namespace kw::task {

// By extension: .cpp .cc (cpp), .cu, .ptx, .cubin, .py (triton when it has "triton.jit", else
// python), .json (a solution), a .jsonl with one solution. "// flags:" of C++ and "// launch:" of
// device code are read. kNotFound, or kInvalidArgument naming the file and the reason: empty, over
// 2 MiB, not UTF-8, a flag that is not allowed.
Result<Candidate> load_candidate(const std::filesystem::path& path);

// What load_candidate makes of a source file with this name and content; the language where given
// instead of the extension's. kInvalidArgument as above.
Result<Candidate> candidate_from_source(const std::string& file_name, std::string content,
                                        std::optional<Language> language = std::nullopt);

// The same of several files, one at least; the first has the entry.
Result<Candidate> candidate_from_files(Language language, std::vector<SourceFile> files);

// One file, every solution of a .jsonl, or everything that load_candidate knows below a folder,
// sorted by path. In a folder with KernelBench's level_<L>_problem_<id>_sample_<s>_kernel.py only
// those count. kNotFound when there is none.
Result<std::vector<Candidate>> load_candidates(const std::filesystem::path& path);

// level, problem and sample of KernelBench's file name (without folder); nullopt for any other.
std::optional<KernelBenchSample> kernelbench_sample(std::string_view file_name);

}  // namespace kw::task
