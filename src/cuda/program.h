// Programs: CUDA C++ to machine code through NVRTC, which is loaded when something must be
// compiled.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw::cuda {

struct ProgramSource {
  std::string name;  // in messages: "attention"
  std::string text;
  std::vector<std::string> definitions;  // "KW_HIDDEN=1536"
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

}  // namespace kw::cuda
