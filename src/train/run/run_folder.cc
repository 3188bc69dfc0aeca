#include "train/run/run_folder.h"

#include <string>
#include <system_error>

#include "base/text.h"
#include "os/file.h"
#include "text/toml.h"

namespace kw::train {

namespace fs = std::filesystem;

Status prepare_run_folder(const fs::path& run, bool resume, std::size_t checkpoints,
                          std::int64_t step, const Json& settings) {
  if (!resume && checkpoints > 0)
    return fail(ErrorCode::kAlreadyExists,
                "{} has checkpoints: go on with --resume, or name another run", run.string());
  if (resume && checkpoints == 0)
    return fail(ErrorCode::kNotFound, "{} has no checkpoint to resume", run.string());
  std::error_code error;
  fs::create_directories(run, error);
  if (error)
    return fail(ErrorCode::kPermissionDenied, "cannot make {}: {}", run.string(), error.message());
  KW_TRY_STATUS(keep_steps(run / "metrics.jsonl", resume ? step : -1));
  return os::write_file_atomic(run / "run.toml", text::to_toml(settings));
}

Status keep_steps(const fs::path& file, std::int64_t step) {
  std::string kept;
  if (fs::exists(file)) {
    KW_TRY(const std::string text, os::read_file(file, std::size_t{1} << 32U));
    for (const std::string& line : split(text, '\n')) {
      const auto parsed = parse_json(line);
      if (parsed && parsed->is_object() && parsed->value("step", step + 1) <= step)
        kept += line + "\n";
    }
  }
  return os::write_file_atomic(file, kept);
}

}  // namespace kw::train
