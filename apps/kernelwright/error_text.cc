// Lines to one line.
#include "kernelwright/error_text.h"

#include <vector>

#include "base/text.h"
#include "kernelwright/json_line.h"

namespace kw::front {
namespace {

constexpr std::string_view kTraceback = "Traceback (most recent call last):";
constexpr std::size_t kMaxBytes = 8000;

// '  File "/work/source-x1/problem.py", line 19, in get_inputs' -> "problem.py, line 19, in
// get_inputs"; empty for a file that is not the caller's. The sandbox copies sources into folders
// named source-*.
std::string place_of(std::string_view line) {
  std::string_view text = trim(line);
  constexpr std::string_view kFile = "File \"";
  if (!text.starts_with(kFile)) return {};
  std::size_t end = text.find('"', kFile.size());
  if (end == std::string_view::npos) return {};
  std::string_view path = text.substr(kFile.size(), end - kFile.size());
  if (path.find("/source-") == std::string_view::npos) return {};
  return std::string(path.substr(path.rfind('/') + 1)) + std::string(text.substr(end + 1));
}

// The last exception of the lines of a traceback: one raised while another was handled ends it.
std::string exception_of(const std::vector<std::string>& lines, std::size_t begin) {
  std::string place, exception;
  for (std::size_t i = begin; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    if (line.starts_with(kTraceback)) {
      place.clear();
      exception.clear();
    } else if (std::string found = place_of(line); !found.empty()) {
      place = found;
    } else if (exception.empty() && !line.empty() && line[0] != ' ') {
      exception = line;
    }
  }
  return place.empty() ? exception : place + ": " + exception;
}

}  // namespace

std::string one_line(std::string_view message) {
  std::string text = printable(trim(message), kMaxBytes);
  std::vector<std::string> lines = split(text, '\n');
  std::vector<std::string> said;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::size_t at = lines[i].find(kTraceback);
    if (at != std::string::npos)
      return join(said, "; ") + (said.empty() ? "" : "; ") + lines[i].substr(0, at) +
             exception_of(lines, i + 1);
    if (auto line = trim(lines[i]); !line.empty()) said.emplace_back(line);
  }
  return join(said, "; ");
}

std::string error_line(const Error& error) {
  return json_line({{"error", {{"code", to_string(error.code())}, {"message", error.message()}}}});
}

}  // namespace kw::front
