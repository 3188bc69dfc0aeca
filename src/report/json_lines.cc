// The last line is looked at before the others are read.
#include "report/json_lines.h"

#include "base/text.h"
#include "task/jsonl.h"
#include "task/text_file.h"

namespace kw::report {

Result<LinesRead> read_json_lines(const std::filesystem::path& file,
                                  const std::function<Status(const Json&)>& read) {
  KW_TRY(std::string text, task::read_bytes(file, task::kMaxDataFile));
  LinesRead out;
  std::size_t last = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  if (last < text.size() && !parse_json(std::string_view(text).substr(last))) {
    out.cut = true;
    text.resize(last);
  }
  KW_TRY_STATUS(task::for_each_json_line(text, file.string(), read));
  return out;
}

}  // namespace kw::report
