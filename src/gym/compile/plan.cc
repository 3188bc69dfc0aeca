// Files, command lines and key of a cpp build.
#include "gym/compile/plan.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/hash.h"
#include "base/text.h"
#include "task/device_plan.h"
#include "task/flags.h"
#include "text/cpp_scan.h"

namespace kw::gym {
namespace {

// Raised when the same plan would be built to other bytes by a newer gym.
constexpr int kPlanSchema = 2;
constexpr std::size_t kMaxFiles = 64;
constexpr std::size_t kMaxSourceBytes = 4ULL << 20U;
constexpr std::string_view kProblemHeader = "problem.h";
constexpr std::string_view kCallHeader = "kw_call.h";
constexpr const char* kArtifact = "kw_out.so";
constexpr const char* kDeviceArtifact = "kw_out.cubin";

// In front of the candidate's own flags, which may thus override them.
constexpr std::array<const char*, 4> kCodeFlags = {"-std=c++20", "-O3", "-fno-math-errno",
                                                   "-fopenmp"};
// Behind them. Undefined symbols are found here instead of when the executor loads the object; the
// linker plugin only serves -flto; a fixed seed makes equal sources give equal bytes.
constexpr std::array<const char*, 9> kFixedFlags = {"-fPIC",
                                                    "-frandom-seed=kernelwright",
                                                    "-ffile-prefix-map=./=",
                                                    "-fdiagnostics-color=never",
                                                    "-fmax-errors=20",
                                                    "-I.",
                                                    "-include",
                                                    "problem.h",
                                                    "-fno-use-linker-plugin"};
constexpr std::array<const char*, 3> kLinkFlags = {"-shared", "-Wl,-z,now", "-Wl,-z,defs"};

bool is_cpp_source(std::string_view path) {
  return path.ends_with(".cpp") || path.ends_with(".cc") || path.ends_with(".cxx");
}

bool is_cpp_header(std::string_view path) {
  return path.ends_with(".h") || path.ends_with(".hpp") || path.ends_with(".hh") ||
         path.ends_with(".inc");
}

// Relative, of plain characters, without "." and ".." components; never taken for an option.
bool is_plain_path(std::string_view path) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+/";
  if (path.empty() || path.size() > 200 || path[0] == '-' ||
      path.find_first_not_of(kPlain) != std::string_view::npos) {
    return false;
  }
  for (const std::string& part : split(path, '/')) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  return true;
}

template <std::size_t N>
void append(std::vector<std::string>& words, const std::array<const char*, N>& more) {
  words.insert(words.end(), more.begin(), more.end());
}

Status check_candidate(const task::Candidate& candidate) {
  if (candidate.sources.size() > kMaxFiles) {
    return fail(ErrorCode::kInvalidArgument, "{} source files, more than {}",
                candidate.sources.size(), kMaxFiles);
  }
  std::size_t bytes = 0;
  std::set<std::string_view> paths;
  for (const task::SourceFile& source : candidate.sources) {
    if (!is_plain_path(source.path)) {
      return fail(ErrorCode::kInvalidArgument, "source path \"{}\" is not allowed",
                  printable(source.path, 200));
    }
    if (!paths.insert(source.path).second) {
      return fail(ErrorCode::kInvalidArgument, "two source files are called {}", source.path);
    }
    bytes += source.content.size();
  }
  if (bytes > kMaxSourceBytes) {
    return fail(ErrorCode::kInvalidArgument, "{} of source text, more than {}", format_bytes(bytes),
                format_bytes(kMaxSourceBytes));
  }
  // Again, after the codec: a candidate may have come another way.
  return task::check_flags(candidate.flags);
}

// The sources to compile, the entry file first.
Result<std::vector<std::string>> units_of(const task::Candidate& candidate) {
  std::vector<std::string> units;
  for (const task::SourceFile& source : candidate.sources) {
    if (!is_cpp_source(source.path)) continue;
    bool entry = source.path == candidate.entry_file;
    units.insert(entry ? units.begin() : units.end(), source.path);
  }
  if (units.empty()) {
    return fail(ErrorCode::kInvalidArgument, "no source file ends in .cpp, .cc or .cxx");
  }
  if (!candidate.entry_file.empty() && units[0] != candidate.entry_file) {
    return fail(ErrorCode::kInvalidArgument, "the entry file {} is not among the C++ sources",
                printable(candidate.entry_file, 200));
  }
  return units;
}

std::vector<std::string> compile_words(const task::Candidate& candidate,
                                       const Toolchain& toolchain) {
  std::vector<std::string> words = {toolchain.compiler};
  append(words, kCodeFlags);
  words.insert(words.end(), toolchain.arch_flags.begin(), toolchain.arch_flags.end());
  words.insert(words.end(), candidate.flags.begin(), candidate.flags.end());
  append(words, kFixedFlags);
  return words;
}

void add_commands(CompilePlan& plan, const std::vector<std::string>& compile,
                  const std::vector<std::string>& units) {
  if (units.size() == 1) {
    std::vector<std::string> command = compile;
    append(command, kLinkFlags);
    command.insert(command.end(),
                   {"-include", std::string(kCallHeader), "-o", plan.artifact, units[0]});
    plan.commands.push_back(std::move(command));
    return;
  }
  std::vector<std::string> link = compile;
  append(link, kLinkFlags);
  link.insert(link.end(), {"-o", plan.artifact});
  for (std::size_t i = 0; i < units.size(); ++i) {
    std::string object = fmt::format("kw_{}.o", i);
    std::vector<std::string> command = compile;
    if (i == 0) command.insert(command.end(), {"-include", std::string(kCallHeader)});
    command.insert(command.end(), {"-c", "-o", object, units[i]});
    plan.commands.push_back(std::move(command));
    link.push_back(object);
  }
  plan.commands.push_back(std::move(link));
}

std::string key_of(const CompilePlan& plan, const std::string& toolchain) {
  Json files = Json::array();
  for (const task::SourceFile& file : plan.files) {
    // Hashed one by one: source text need not be valid UTF-8, which JSON would have to replace.
    files.push_back(Json::array({file.path, sha256_hex(file.content)}));
  }
  return sha256_hex(canonical_json(Json{{"schema", kPlanSchema},
                                        {"files", files},
                                        {"commands", plan.commands},
                                        {"setup", plan.setup},
                                        {"toolchain", toolchain}}));
}

// The entry file, whose name must end as its language's do.
Result<std::string> device_entry(const task::Candidate& candidate, std::string_view extension) {
  const task::SourceFile* entry = candidate.entry_source();
  if (entry == nullptr)
    return fail(ErrorCode::kInvalidArgument, "the entry file {} is not among the sources",
                printable(candidate.entry_file, 200));
  if (entry->path.ends_with(extension)) return entry->path;
  return fail(ErrorCode::kInvalidArgument, "the entry file {} does not end in {}", entry->path,
              extension);
}

Result<std::vector<std::string>> cuda_command(const std::string& entry,
                                              const std::string& architecture,
                                              const CudaToolchain& toolchain) {
  std::vector<std::string> words;
  if (!toolchain.nvrtc.empty()) {
    words = {"nvrtc", "--gpu-architecture=" + architecture, "--std=c++17",
             "--pre-include=problem.h", "-I."};
    if (!toolchain.include.empty()) words.push_back("-I" + toolchain.include.string());
  } else if (!toolchain.nvcc.empty()) {
    words = {toolchain.nvcc, "-cubin", "-arch=" + architecture, "-std=c++17", "-include",
             "problem.h",    "-I."};
  } else {
    return fail(ErrorCode::kUnsupported, "neither NVRTC nor nvcc is installed");
  }
  words.insert(words.end(), {"-o", kDeviceArtifact, entry});
  return words;
}

Result<std::vector<std::string>> device_command(const task::Candidate& candidate,
                                                const std::string& architecture,
                                                const CudaToolchain& toolchain) {
  if (candidate.language == task::Language::kCuda) {
    KW_TRY(std::string entry, device_entry(candidate, ".cu"));
    return cuda_command(entry, architecture, toolchain);
  }
  if (candidate.language == task::Language::kPtx) {
    KW_TRY(std::string entry, device_entry(candidate, ".ptx"));
    if (toolchain.ptxas.empty()) return fail(ErrorCode::kUnsupported, "ptxas is not installed");
    return std::vector<std::string>{toolchain.ptxas, "-arch=" + architecture, "-o", kDeviceArtifact,
                                    entry};
  }
  if (candidate.language == task::Language::kCubin) {
    KW_TRY(std::string entry, device_entry(candidate, ".cubin"));
    return std::vector<std::string>{"cp", entry, kDeviceArtifact};
  }
  return fail(ErrorCode::kInvalidArgument, "{} is no language of device code",
              to_string(candidate.language));
}

Result<CompilePlan> plan_host_code(ArtifactKind kind, const task::Candidate& candidate, Json setup,
                                   int arch, const TritonToolchain& toolchain) {
  KW_TRY_STATUS(check_candidate(candidate));
  CompilePlan plan;
  plan.kind = kind;
  plan.files = candidate.sources;
  plan.setup = std::move(setup);
  plan.setup["arch"] = arch;
  plan.key = key_of(plan, toolchain.identity);
  return plan;
}

}  // namespace

std::size_t CompilePlan::source_bytes() const {
  std::size_t bytes = 0;
  for (const task::SourceFile& file : files) bytes += file.content.size();
  return bytes;
}

std::vector<std::string> shown_cpp_flags() {
  std::vector<std::string> flags(kCodeFlags.begin(), kCodeFlags.end());
  flags.insert(flags.begin() + 2, "-march=native");
  return flags;
}

Result<CompilePlan> plan_cpp(const task::Candidate& candidate, const task::Signature& signature,
                             const Toolchain& toolchain) {
  KW_TRY_STATUS(check_candidate(candidate));
  KW_TRY(std::vector<std::string> units, units_of(candidate));
  CompilePlan plan;
  plan.artifact = kArtifact;
  for (const task::SourceFile& source : candidate.sources) {
    bool is_code = is_cpp_source(source.path) || is_cpp_header(source.path);
    plan.has_prepare = plan.has_prepare || (is_code && text::defines_prepare(source.content));
  }
  plan.files = {{std::string(kProblemHeader), task::problem_header(signature, plan.has_prepare)},
                {std::string(kCallHeader), task::call_shim(signature, plan.has_prepare)}};
  for (const task::SourceFile& source : candidate.sources) {
    // A candidate may bring a problem.h of its own to be complete elsewhere; here ours counts.
    bool generated = source.path == kProblemHeader || source.path == kCallHeader;
    if (!generated) plan.files.push_back(source);
  }
  add_commands(plan, compile_words(candidate, toolchain), units);
  plan.key = key_of(plan, toolchain.identity);
  return plan;
}

Result<CompilePlan> plan_triton(const task::Candidate& candidate, Json setup, int arch,
                                const TritonToolchain& toolchain) {
  return plan_host_code(ArtifactKind::kTritonKernels, candidate, std::move(setup), arch, toolchain);
}

Result<CompilePlan> plan_recording(const task::Candidate& candidate, Json setup, int arch,
                                   const std::vector<std::int64_t>& choices,
                                   const TritonToolchain& toolchain) {
  setup["recorded"] = true;
  if (!choices.empty()) setup["choices"] = choices;
  return plan_host_code(ArtifactKind::kRecordedPlan, candidate, std::move(setup), arch, toolchain);
}

Result<CompilePlan> plan_device(const task::Candidate& candidate, const task::Signature& signature,
                                const std::string& architecture, const CudaToolchain& toolchain) {
  KW_TRY_STATUS(check_candidate(candidate));
  CompilePlan plan;
  plan.kind = ArtifactKind::kDeviceCode;
  plan.artifact = kDeviceArtifact;
  KW_TRY(std::vector<std::string> command, device_command(candidate, architecture, toolchain));
  plan.commands.push_back(std::move(command));
  task::PlanModule module;
  module.content.name = plan.artifact;
  KW_TRY(plan.launches, task::device_plan(candidate, signature, std::move(module)));
  // A cubin is checked against its launches before it is cached, so they are part of its key.
  plan.setup = to_json(*plan.launches);
  plan.setup["architecture"] = architecture;
  plan.files = {{std::string(kProblemHeader), task::device_header(signature)}};
  for (const task::SourceFile& source : candidate.sources)
    if (source.path != kProblemHeader) plan.files.push_back(source);
  plan.key = key_of(plan, toolchain.identity);
  return plan;
}

}  // namespace kw::gym
