// Runs the compiler's driver with -### and reads what it would run.
#include "gym/compile/toolchain.h"

#include <algorithm>
#include <array>

#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "os/fd.h"

namespace kw::gym {
namespace {

constexpr std::size_t kMaxDriverOutput = 1ULL << 20U;

// stdout and stderr of a trusted program, with a fixed environment.
Result<std::string> output_of(std::vector<std::string> words) {
  KW_TRY(os::Pipe pipe, os::make_pipe());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::array<std::string, 2> environment = {"PATH=/usr/bin:/bin:/usr/local/bin", "LC_ALL=C"};
  std::array<char*, 3> envp = {environment[0].data(), environment[1].data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe.write_end.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe.write_end.get(), STDERR_FILENO);
  pid_t pid = -1;
  int error = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return fail_errno(error, "cannot run " + words[0]);
  pipe.write_end.reset();
  auto text = os::read_to_end(pipe.read_end.get(), kMaxDriverOutput);
  pipe.read_end.reset();
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (text && status != 0) {
    return fail(ErrorCode::kUnsupported, "{} failed: {}", join(words, " "), printable(*text, 400));
  }
  return text;
}

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

// Size and time of a file that decides what is built; a package manager keeps both.
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
  auto text = output_of({path, "-march=" + arch, "-v", "-###", "-c", "-x", "c++", "/dev/null"});
  if (!text) return tl::unexpected(std::move(text).error().with_context("asking the C++ compiler"));
  KW_TRY(Toolchain toolchain, parse_driver_output(*text));
  toolchain.compiler = path;
  return toolchain;
}

}  // namespace kw::gym
