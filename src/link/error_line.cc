#include "link/error_line.h"

#include <string>

#include "base/error_names.h"

namespace kw::link {

Error error_of_line(std::string_view line) {
  if (line.starts_with('!')) line.remove_prefix(1);
  const std::size_t space = line.find(' ');
  const auto code = error_code_from_string(line.substr(0, space));
  if (code && space != std::string_view::npos) return {*code, std::string(line.substr(space + 1))};
  return {ErrorCode::kInternal, std::string(line)};
}

}  // namespace kw::link
