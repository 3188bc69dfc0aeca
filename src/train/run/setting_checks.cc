#include "train/run/setting_checks.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace kw::train {

Status at_least(const char* key, double value, double low) {
  if (value >= low && std::isfinite(value)) return {};
  return fail(ErrorCode::kInvalidArgument, "{}: expected {} or more, not {}", key, low, value);
}

Status one_of(const char* key, const std::string& value, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), value) != known.end()) return {};
  return fail(ErrorCode::kInvalidArgument, "{}: no \"{}\"; there are {}", key, printable(value, 40),
              join(known, ", "));
}

Result<Json> with_words(Json value, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const std::size_t equal = word.find('=');
    if (equal == std::string::npos || equal == 0)
      return fail(ErrorCode::kInvalidArgument, "--set {}: expected key=value", printable(word, 80));
    const std::string text = word.substr(equal + 1);
    auto parsed = parse_json(text);
    value[word.substr(0, equal)] = parsed ? std::move(*parsed) : Json(text);
  }
  return value;
}

}  // namespace kw::train
