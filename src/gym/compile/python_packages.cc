#include "gym/compile/python_packages.h"

#include "base/text.h"
#include "gym/compile/program_output.h"

namespace kw::gym {
namespace {

constexpr const char* kVersionsQuestion = R"(
import importlib.metadata
for name in ("torch", "triton"):
    try:
        print(importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        print("-")
)";
constexpr std::size_t kMaxVersionBytes = 60;

}  // namespace

PythonPackages python_packages(const std::filesystem::path& python) {
  if (python.empty()) return {};
  const auto text = program_output({python.string(), "-I", "-c", kVersionsQuestion});
  if (!text) return {};
  const auto lines = split(std::string(trim(*text)), '\n');
  if (lines.size() != 2) return {};
  const auto version = [](const std::string& line) {
    return line == "-" ? std::string() : printable(line, kMaxVersionBytes);
  };
  return {.torch = version(lines[0]), .triton = version(lines[1])};
}

}  // namespace kw::gym
