// JSON Lines that somebody may still be writing: a last line that was cut is no error.
#pragma once
#include <filesystem>
#include <functional>

#include "base/json.h"
#include "base/result.h"

namespace kw::report {

struct LinesRead {
  bool cut = false;  // the last line has no end and is no JSON
};

// Calls read for every line that is not empty. Errors (of read too) begin with "FILE:LINE".
// kInvalidArgument for a line that is not JSON, but for a last one that is cut.
Result<LinesRead> read_json_lines(const std::filesystem::path& file,
                                  const std::function<Status(const Json&)>& read);

}  // namespace kw::report
