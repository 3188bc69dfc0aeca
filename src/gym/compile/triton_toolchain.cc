// Versions from the packages' metadata, files by size and time.
#include "gym/compile/triton_toolchain.h"

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "gym/compile/program_output.h"

namespace kw::gym {
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

}  // namespace

Result<TritonToolchain> resolve_triton(const std::filesystem::path& python) {
  if (python.empty()) return fail(ErrorCode::kUnsupported, "there is no Python with torch");
  KW_TRY(std::string text, program_output({python.string(), "-I", "-c", kQuestion}));
  auto lines = split(std::string(trim(text)), '\n');
  if (lines.size() < 5)
    return fail(ErrorCode::kUnsupported, "triton is not installed beside {}", python.string());
  return TritonToolchain{lines[0], sha256_hex(canonical_json(Json(lines)))};
}

}  // namespace kw::gym
