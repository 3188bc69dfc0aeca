// Programs: CUDA C++ to machine code through NVRTC, which is loaded when something must be
// compiled.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw::cuda {

struct ProgramSource {
  std::string name;  // in messages: "attention"
  std::string text;
  std::vector<std::string> definitions;  // "KW_HIDDEN=1536"
  bool contracts = true;                 // whether a * b + c may be rounded once
};

// Keeps what it compiles in a folder, under the hash of source, definitions, architecture and
// NVRTC's version; a damaged file is compiled again. Several processes may share the folder.
class Compiler {
 public:
  // architecture: "sm_90a". An empty folder keeps nothing.
  Compiler(std::string architecture, std::filesystem::path folder)
      : architecture_(std::move(architecture)), folder_(std::move(folder)) {}
  // A cubin. kUnsupported: no NVRTC; kInternal: the compiler's messages.
  Result<std::string> compile(const ProgramSource& source) const;
  // All of them, on as many threads at once.
  Result<std::vector<std::string>> compile_all(const std::vector<ProgramSource>& sources) const;

 private:
  std::string architecture_;
  std::filesystem::path folder_;
};

// The result of one run of NVRTC: a cubin, or none where the source is at fault.
struct ProgramRun {
  std::optional<std::string> cubin;
  std::string log;  // messages as NVRTC writes them; warnings where there is a cubin
};

// Compiles once and keeps nothing. name stands in messages ("main.cu"); options are NVRTC's, the
// architecture among them; includes are looked for in the current folder and those of options.
// kUnsupported: no NVRTC.
Result<ProgramRun> run_nvrtc(const std::string& name, const std::string& text,
                             const std::vector<std::string>& options);

}  // namespace kw::cuda
