// The last line is looked at before the others are read.
#include "report/json_lines.h"

#include "base/text.h"
#include "text/jsonl.h"
#include "text/text_file.h"

namespace kw::report {

Result<LinesRead> read_json_lines(const std::filesystem::path& file,
                                  const std::function<Status(const Json&)>& read) {
  KW_TRY(std::string text, text::read_bytes(file, text::kMaxDataFile));
  LinesRead out;
  std::size_t last = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  if (last < text.size() && !parse_json(std::string_view(text).substr(last))) {
    out.cut = true;
    text.resize(last);
  }
  KW_TRY_STATUS(text::for_each_json_line(text, file.string(), read));
  return out;
}

}  // namespace kw::report
