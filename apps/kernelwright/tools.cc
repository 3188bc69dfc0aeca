// Versions out of what tools print.
#include "kernelwright/tools.h"

#include <array>
#include <cstdlib>
#include <fstream>
#include <utility>

#include <sched.h>

#include "base/hash.h"
#include "base/text.h"
#include "gym/compile/python_packages.h"

namespace kw::front {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::seconds kPatience{10};

// Nothing when the tool is not there or fails.
std::string answer_of(ToolRunner& runner, const std::vector<std::string>& argv) {
  auto output = runner.run(argv, kPatience);
  return output && output->exit_code == 0 ? printable(output->out, 16384) : std::string();
}

std::vector<std::string> lines_of(ToolRunner& runner, const std::vector<std::string>& argv) {
  std::vector<std::string> lines = split(answer_of(runner, argv), '\n');
  while (!lines.empty() && trim(lines.back()).empty()) lines.pop_back();
  return lines;
}

// "Cuda compilation tools, release 13.0, V13.0.88" -> "13.0.88"
std::string nvcc_version(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    if (auto at = line.find(", V"); at != std::string::npos) return line.substr(at + 3);
  }
  return {};
}

std::string find_python(const fs::path& checkout) {
  const char* chosen =
      std::getenv("KW_PYTHON");  // NOLINT(concurrency-mt-unsafe): read before threads start
  if (chosen != nullptr && chosen[0] != '\0') return chosen;
  std::error_code ignored;
  fs::path own = checkout / ".venv" / "bin" / "python";
  if (!checkout.empty() && fs::exists(own, ignored)) return own.string();
  return "python3";
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name"))
      return printable(trim(std::string_view(line).substr(line.find(':') + 1)), 120);
  }
  return "unknown CPU";
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

}  // namespace

std::string ToolChain::digest() const {
  return sha256_hex(
      canonical_json(Json{{"g++", gxx}, {"python", python}, {"torch", torch}, {"triton", triton}}));
}

Json to_json(const ToolChain& tools) {
  return {{"g++", tools.gxx},        {"python", tools.python}, {"python_path", tools.python_path},
          {"torch", tools.torch},    {"triton", tools.triton}, {"nvcc", tools.nvcc},
          {"gpus", tools.gpus},      {"cpu", tools.cpu},       {"cores", tools.cores},
          {"digest", tools.digest()}};
}

bool is_made_with(const task::MadeWith& made_with, const ToolChain& tools) {
  const auto is = [](const std::string& text, const std::string& version) {
    return text.empty() || text == version;
  };
  // "gcc version 12.2.0 (Debian 12.2.0-14+deb12u1)"
  const std::vector<std::string> words = split(made_with.compiler, ' ');
  return is(words.size() > 2 ? words[2] : "", tools.gxx) && is(made_with.torch, tools.torch) &&
         is(made_with.triton, tools.triton);
}

ToolChain inspect_tools(ToolRunner& runner, const fs::path& checkout) {
  ToolChain tools;
  if (auto lines = lines_of(runner, {"g++", "-dumpfullversion"}); !lines.empty())
    tools.gxx = lines[0];
  tools.python_path = find_python(checkout);
  gym::PythonPackages packages =
      gym::python_packages_in(answer_of(runner, gym::python_packages_command(tools.python_path)));
  tools.python = std::move(packages.python);
  tools.torch = std::move(packages.torch);
  tools.triton = std::move(packages.triton);
  tools.nvcc = nvcc_version(lines_of(runner, {"nvcc", "--version"}));
  tools.gpus = lines_of(runner, {"nvidia-smi", "--query-gpu=name", "--format=csv,noheader"});
  tools.cpu = cpu_model();
  tools.cores = usable_cores();
  return tools;
}

fs::path find_checkout(const fs::path& program_folder) {
  std::error_code ignored;
  for (fs::path folder = program_folder; folder.has_relative_path();
       folder = folder.parent_path()) {
    if (fs::is_directory(folder / "problems", ignored) &&
        fs::is_directory(folder / "python", ignored))
      return folder;
  }
  return {};
}

}  // namespace kw::front
