// Runs the compiler's driver with -### and reads the commands that it would run.
#include "gym/compile/toolchain.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "gym/compile/program_output.h"

namespace kw::gym {
namespace {

// Words of a printed command line: blanks separate, double quotes group, backslashes escape.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> out;
  std::string word;
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size()) {
      word += line[++i];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ' ' && !quoted) {
      if (!word.empty()) out.push_back(std::move(word));
      word.clear();
    } else {
      word += line[i];
    }
  }
  if (!word.empty()) out.push_back(std::move(word));
  return out;
}

// Size and time of a file that the build depends on; a package manager keeps both.
Json fingerprint(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return nullptr;
  return Json::array({path, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec});
}

std::string default_compiler() {
  for (const char* path : {"/usr/bin/g++", "/usr/local/bin/g++"}) {
    if (::access(path, X_OK) == 0) return path;
  }
  return "";
}

}  // namespace

Result<Toolchain> parse_driver_output(const std::string& text) {
  Toolchain toolchain;
  Json identity = Json::array();
  for (const std::string& line : split(text, '\n')) {
    if (line.starts_with("gcc version ")) {
      toolchain.version = std::string(trim(line));
    } else if (line.starts_with("Target: ")) {
      identity.push_back(std::string(trim(line)));
    }
    std::vector<std::string> words = words_of(line);
    if (words.empty() || !words[0].ends_with("/cc1plus")) continue;
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (words[i].starts_with("-m")) {
        toolchain.arch_flags.push_back(words[i]);
      } else if (words[i] == "--param" && i + 1 < words.size()) {
        toolchain.arch_flags.push_back("--param=" + words[++i]);
      }
      if (words[i].starts_with("-march=")) toolchain.arch = words[i].substr(7);
    }
    identity.push_back(fingerprint(words[0]));
  }
  if (toolchain.version.empty() || identity.size() < 2) {
    return fail(ErrorCode::kUnsupported,
                "the C++ compiler is not a GCC that Kernelwright knows: {}", printable(text, 300));
  }
  for (const char* tool : {"/usr/bin/as", "/usr/bin/ld", "/usr/include/features.h"}) {
    identity.push_back(fingerprint(tool));
  }
  identity.push_back(toolchain.version);
  toolchain.identity = sha256_hex(canonical_json(identity));
  return toolchain;
}

Result<Toolchain> resolve_toolchain(const std::string& compiler, const std::string& arch) {
  std::string path = compiler.empty() ? default_compiler() : compiler;
  if (path.empty()) {
    return fail(ErrorCode::kUnsupported,
                "there is no C++ compiler (/usr/bin/g++); install the package g++");
  }
  auto text =
      program_output({path, "-march=" + arch, "-v", "-###", "-c", "-x", "c++", "/dev/null"});
  if (!text) return tl::unexpected(std::move(text).error().with_context("asking the C++ compiler"));
  KW_TRY(Toolchain toolchain, parse_driver_output(*text));
  toolchain.compiler = path;
  return toolchain;
}

}  // namespace kw::gym
