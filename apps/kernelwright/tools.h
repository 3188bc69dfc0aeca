// The programs of this machine that the gym builds on, and their versions.
#pragma once
#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "task/verdict.h"

namespace kw::front {

struct ToolOutput {
  int exit_code = 0;  // negative: the signal
  std::string out;    // stdout and stderr together, at most 1 MiB
};

// Runs a short command of ours and waits. An interface for tests.
class ToolRunner {
 public:
  virtual ~ToolRunner() = default;
  // kNotFound when there is no such program, kDeadlineExceeded after the timeout (it is killed).
  virtual Result<ToolOutput> run(const std::vector<std::string>& argv,
                                 std::chrono::milliseconds timeout) = 0;
};

class ProcessRunner : public ToolRunner {
 public:
  Result<ToolOutput> run(const std::vector<std::string>& argv,
                         std::chrono::milliseconds timeout) override;
};

// The installed versions. An empty one means that the package is missing.
struct ToolChain {
  std::string gxx, python, torch, triton, nvcc;  // versions
  std::string python_path;
  std::vector<std::string> gpus;  // names
  std::string cpu;                // model name
  int cores = 0;                  // that this process may use

  // SHA-256 over what decides the results of a CPU target: g++, Python, torch and Triton.
  std::string digest() const;
};
Json to_json(const ToolChain& tools);
// Whether these tools could have made a verdict. What it does not say is no reason against it.
bool is_made_with(const task::MadeWith& made_with, const ToolChain& tools);

// Asks each tool; none takes more than a few seconds. torch is not imported (that takes seconds),
// only looked up.
ToolChain inspect_tools(ToolRunner& runner, const std::filesystem::path& checkout);

// The folder above the program that holds the project's files: a checkout or a bundle; empty when
// there is none.
std::filesystem::path find_checkout(const std::filesystem::path& program_folder);

}  // namespace kw::front
