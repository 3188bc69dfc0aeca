// A kept file is the cubin after a line with its hash.
#include "cuda/program.h"

#include <optional>
#include <system_error>
#include <thread>

#include "base/hash.h"
#include "base/text.h"
#include "cuda/library.h"
#include "os/file.h"

namespace kw::cuda {
namespace {

constexpr std::size_t kMaxCubin = 64ULL << 20U;

// nvrtc.h; results are 0 for success.
struct Nvrtc {
  using Program = struct ProgramTag*;
  int (*version)(int*, int*) = nullptr;
  int (*create)(Program*, const char*, const char*, int, const char* const*,
                const char* const*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*log_size)(Program, std::size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*cubin_size)(Program, std::size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;
  const char* (*error_text)(int) = nullptr;
  std::string version_text;
};

Result<Nvrtc> load_nvrtc() {
  Nvrtc out;
  KW_TRY(Library library,
         Library::open("NVRTC, CUDA's compiler library", {"libnvrtc.so.13", "libnvrtc.so.12"}));
  KW_TRY_STATUS(library.find("nvrtcVersion", out.version));
  KW_TRY_STATUS(library.find("nvrtcCreateProgram", out.create));
  KW_TRY_STATUS(library.find("nvrtcDestroyProgram", out.destroy));
  KW_TRY_STATUS(library.find("nvrtcCompileProgram", out.compile));
  KW_TRY_STATUS(library.find("nvrtcGetProgramLogSize", out.log_size));
  KW_TRY_STATUS(library.find("nvrtcGetProgramLog", out.log));
  KW_TRY_STATUS(library.find("nvrtcGetCUBINSize", out.cubin_size));
  KW_TRY_STATUS(library.find("nvrtcGetCUBIN", out.cubin));
  KW_TRY_STATUS(library.find("nvrtcGetErrorString", out.error_text));
  int major = 0, minor = 0;
  out.version(&major, &minor);
  out.version_text = fmt::format("{}.{}", major, minor);
  return out;
}

Result<const Nvrtc*> nvrtc() {
  static const Result<Nvrtc> loaded = load_nvrtc();
  if (!loaded) return tl::unexpected(loaded.error());
  return &loaded.value();
}

class Program {
 public:
  Program(const Nvrtc& api, Nvrtc::Program handle) : api_(api), handle_(handle) {}
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() { api_.destroy(&handle_); }

  // No cubin: the source is at fault, and error is NVRTC's word for it.
  ProgramRun compile(const std::vector<std::string>& options, std::string& error) {
    std::vector<const char*> pointers;
    for (const std::string& one : options) pointers.push_back(one.c_str());
    const int result = api_.compile(handle_, static_cast<int>(pointers.size()), pointers.data());
    ProgramRun out;
    out.log = log();
    error = result == 0 ? "no machine code" : api_.error_text(result);
    std::size_t size = 0;
    if (result != 0 || api_.cubin_size(handle_, &size) != 0 || size == 0) return out;
    std::string cubin(size, '\0');
    if (api_.cubin(handle_, cubin.data()) == 0) out.cubin = std::move(cubin);
    return out;
  }

 private:
  std::string log() {
    std::size_t size = 0;
    if (api_.log_size(handle_, &size) != 0 || size == 0) return "";
    std::string out(size, '\0');
    api_.log(handle_, out.data());
    out.resize(out.find('\0') == std::string::npos ? size : out.find('\0'));
    return out;
  }

  const Nvrtc& api_;
  Nvrtc::Program handle_;
};

Result<ProgramRun> run_program(const Nvrtc& api, const std::string& name, const std::string& text,
                               const std::vector<std::string>& options, std::string& error) {
  Nvrtc::Program handle = nullptr;
  if (int result = api.create(&handle, text.c_str(), name.c_str(), 0, nullptr, nullptr))
    return fail(ErrorCode::kInternal, "NVRTC takes no {}: {}", name, api.error_text(result));
  return Program(api, handle).compile(options, error);
}

std::optional<std::string> read_kept(const std::filesystem::path& path) {
  auto content = os::read_file(path, kMaxCubin);
  if (!content) return std::nullopt;
  const std::size_t end = content->find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string cubin = content->substr(end + 1);
  if (content->substr(0, end) != sha256_hex(cubin)) return std::nullopt;
  return cubin;
}

// Only slower where it cannot be written.
void keep(const std::filesystem::path& path, const std::string& cubin) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (!error) (void)os::write_file_atomic(path, sha256_hex(cubin) + "\n" + cubin);
}

}  // namespace

Result<std::string> Compiler::compile(const ProgramSource& source) const {
  KW_TRY(const Nvrtc* api, nvrtc());
  std::vector<std::string> options = {"--gpu-architecture=" + architecture_, "--std=c++17"};
  for (const std::string& one : source.definitions) options.push_back("-D" + one);
  if (!source.contracts) options.emplace_back("--fmad=false");
  const std::filesystem::path path =
      folder_ / (sha256_hex(api->version_text + "\n" + join(options, "\n") + "\n" + source.text)
                     .substr(0, 32) +
                 ".cubin");
  if (!folder_.empty())
    if (auto kept = read_kept(path)) return *kept;
  std::string error;
  KW_TRY(ProgramRun run, run_program(*api, source.name + ".cu", source.text, options, error));
  if (!run.cubin)
    return fail(ErrorCode::kInternal, "NVRTC {} cannot compile {}: {}\n{}", api->version_text,
                source.name, error, printable(run.log, 4000));
  std::string cubin = std::move(*run.cubin);
  if (!folder_.empty()) keep(path, cubin);
  return cubin;
}

Result<ProgramRun> run_nvrtc(const std::string& name, const std::string& text,
                             const std::vector<std::string>& options) {
  KW_TRY(const Nvrtc* api, nvrtc());
  std::string error;
  KW_TRY(ProgramRun out, run_program(*api, name, text, options, error));
  if (!out.cubin && out.log.empty()) out.log = error + "\n";
  return out;
}

Result<std::vector<std::string>> Compiler::compile_all(
    const std::vector<ProgramSource>& sources) const {
  std::vector<Result<std::string>> results(sources.size(), fail(ErrorCode::kInternal, "not run"));
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < sources.size(); ++i)
      threads.emplace_back([&, i] { results[i] = compile(sources[i]); });
  }
  std::vector<std::string> out;
  for (Result<std::string>& one : results) {
    if (!one) return tl::unexpected(std::move(one).error());
    out.push_back(std::move(*one));
  }
  return out;
}

}  // namespace kw::cuda
