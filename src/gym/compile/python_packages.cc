#include "gym/compile/python_packages.h"

#include "base/text.h"
#include "gym/compile/program_output.h"

namespace kw::gym {
namespace {

// Prints a line for each, which is empty where a package is missing.
constexpr const char* kVersionsQuestion = R"(
import importlib.metadata, platform
print(platform.python_version())
for name in ("torch", "triton"):
    try:
        print(importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        print("")
)";
constexpr std::size_t kMaxVersionBytes = 60;

}  // namespace

std::vector<std::string> python_packages_command(const std::string& python) {
  return {python, "-I", "-c", kVersionsQuestion};
}

PythonPackages python_packages_in(std::string_view answer) {
  std::vector<std::string> lines = split(answer, '\n');
  lines.resize(3);
  for (std::string& line : lines) line = printable(trim(line), kMaxVersionBytes);
  return {.python = lines[0], .torch = lines[1], .triton = lines[2]};
}

PythonPackages python_packages(const std::filesystem::path& python) {
  if (python.empty()) return {};
  const auto answer = program_output(python_packages_command(python.string()));
  return answer ? python_packages_in(*answer) : PythonPackages{};
}

}  // namespace kw::gym
