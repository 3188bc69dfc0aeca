// The table of backends, by the words of their sources and of their failures.
#include "gym/supervisor/missing_backend.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"

namespace kw::gym {
namespace {

constexpr const char* kJudgeOnGpu = "judge it where there is a GPU, or write it in Triton or C++";

struct Backend {
  const char* name;
  const char* remedy;
  std::array<const char*, 4> all_of;  // the sources have each of these words; null: no more
  std::array<const char*, 4> any_of;  // what was told has one of these; empty: anything
};

constexpr Backend kBackends[] = {
    {"CUDA by load_inline",
     kJudgeOnGpu,
     {"cpp_extension", "cuda_sources"},
     {"CUDA_HOME", "nvcc", "inja", "CUDA"}},
    {"CUDA by cpp_extension", kJudgeOnGpu, {"cpp_extension", ".cu"}, {"CUDA_HOME", "nvcc", "inja"}},
    {"globaltimer",
     "leave the clock out, or judge it where there is a GPU",
     {"globaltimer"},
     {"globaltimer"}},
    {"inline PTX",
     "write it in tl's functions, or judge it where there is a GPU",
     {"inline_asm_elementwise"},
     {"inline PTX"}},
    {"inline PTX", kJudgeOnGpu, {"libdevice"}, {"inline PTX"}},
    {"inline PTX", kJudgeOnGpu, {"extra.cuda"}, {"inline PTX"}},
    {"gluon", kJudgeOnGpu, {"triton.experimental", "gluon"}, {}},
    {"programs that wait for each other",
     "interpreted programs run one after the other: judge it where there is a GPU",
     {"while"},
     {"a program waits for another program"}},
};

// Packages that are imported by these names.
constexpr const char* kPackages[] = {"tilelang", "cutlass", "helion",         "cuda",  "cupy",
                                     "pycuda",   "numba",   "thunderkittens", "tilus", "pallas"};

bool has_word(const task::Candidate& candidate, std::string_view word) {
  return std::ranges::any_of(candidate.sources, [&](const task::SourceFile& source) {
    return source.content.find(word) != std::string::npos;
  });
}

bool imports(const task::Candidate& candidate, const std::string& package) {
  for (const task::SourceFile& source : candidate.sources) {
    for (const std::string& line : split(source.content, '\n')) {
      std::string_view code = trim(line);
      for (std::string_view verb : {"import ", "from "}) {
        if (!code.starts_with(verb)) continue;
        std::string_view name = trim(code.substr(verb.size()));
        if (name == package || name.starts_with(package + ".") || name.starts_with(package + " "))
          return true;
      }
    }
  }
  return false;
}

bool matches(const Backend& backend, const task::Candidate& candidate, std::string_view told) {
  bool named = std::ranges::all_of(
      backend.all_of, [&](const char* word) { return !word || has_word(candidate, word); });
  bool any = backend.any_of[0] == nullptr;
  for (const char* word : backend.any_of)
    any = any || (word != nullptr && told.find(word) != std::string_view::npos);
  return named && any;
}

}  // namespace

std::optional<std::string> missing_backend(const task::Candidate& candidate,
                                           std::string_view told) {
  for (const char* package : kPackages) {
    std::string missing = fmt::format("No module named '{}", package);
    if (told.find(missing) != std::string_view::npos && imports(candidate, package))
      return fmt::format("{} is not installed: {}", package, kJudgeOnGpu);
  }
  for (const Backend& backend : kBackends) {
    if (matches(backend, candidate, told))
      return fmt::format("{} cannot run without a GPU: {}", backend.name, backend.remedy);
  }
  return std::nullopt;
}

}  // namespace kw::gym
