// JSON Lines.
#include "text/jsonl.h"

#include "base/text.h"

namespace kw::text {

Status for_each_line(std::string_view text,
                     const std::function<Status(std::size_t number, Result<Json>)>& read) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    auto end = text.find('\n');
    std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.empty()) KW_TRY_STATUS(read(number, parse_json(line)));
  }
  return {};
}

Status for_each_json_line(std::string_view text, const std::string& where,
                          const std::function<Status(const Json&)>& read) {
  return for_each_line(text, [&](std::size_t number, Result<Json> value) -> Status {
    Status status = value ? read(*value) : Status(tl::unexpected(std::move(value).error()));
    if (status) return {};
    return tl::unexpected(
        std::move(status).error().with_context(fmt::format("{}:{}", where, number)));
  });
}

}  // namespace kw::text
