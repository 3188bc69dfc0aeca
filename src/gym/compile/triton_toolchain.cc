// Versions from the packages' metadata, their files by size and time, our own by content.
#include "gym/compile/triton_toolchain.h"

#include <map>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "gym/compile/program_output.h"
#include "os/file.h"

namespace kw::gym {
namespace fs = std::filesystem;
namespace {

constexpr const char* kQuestion = R"(
import importlib.metadata, importlib.util, os, platform
spec = importlib.util.find_spec("triton")
if spec is None:
    print("none")
else:
    print(importlib.metadata.version("triton"))
    print(importlib.metadata.version("torch"))
    print(platform.python_version())
    for part in ("_C/libtriton.so", "backends/nvidia/bin/ptxas"):
        path = os.path.join(spec.submodule_search_locations[0], part)
        info = os.stat(path) if os.path.exists(path) else None
        print(part, info and (info.st_size, info.st_mtime_ns))
)";

// A digest of all files that decide a kernel's identity and its launch when it is compiled.
Result<std::string> digest_of(const fs::path& support) {
  std::map<std::string, std::string> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(support, error)) {
    if (entry.path().extension() != ".py") continue;
    KW_TRY(files[entry.path().filename()], os::read_file(entry.path()));
  }
  if (error) return fail_errno(error.value(), "cannot read " + support.string());
  return sha256_hex(canonical_json(Json(files)));
}

}  // namespace

Result<TritonToolchain> resolve_triton(const fs::path& python, const fs::path& support) {
  if (python.empty()) return fail(ErrorCode::kUnsupported, "there is no Python with torch");
  KW_TRY(std::string text, program_output({python.string(), "-I", "-c", kQuestion}));
  auto lines = split(std::string(trim(text)), '\n');
  if (lines.size() < 5)
    return fail(ErrorCode::kUnsupported, "triton is not installed beside {}", python.string());
  KW_TRY(std::string leaf, digest_of(support));
  lines.push_back(std::move(leaf));
  return TritonToolchain{lines[0], sha256_hex(canonical_json(Json(lines)))};
}

}  // namespace kw::gym
