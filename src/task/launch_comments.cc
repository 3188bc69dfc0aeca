#include "task/launch_comments.h"

#include <string>
#include <utility>

#include "base/text.h"
#include "task/flags.h"

namespace kw::task {
namespace {

constexpr std::size_t kMaxComments = 64;

// The column of the key that the message's path ends with: "launch.grid[0]: ..." is about "grid".
// That of the whole text where there is none.
std::size_t column_of(const CommentLine& comment, std::string_view message) {
  std::string_view path = message.substr(0, message.find(": "));
  path = path.substr(0, path.find('[', path.rfind('.') + 1));
  const auto dot = path.rfind('.');
  if (dot == std::string_view::npos) return comment.column;
  const std::string key = fmt::format("\"{}\"", path.substr(dot + 1));
  const auto at = comment.text.find(key);
  return at == std::string::npos ? comment.column : comment.column + at;
}

template <typename T>
Status read(const CommentLine& comment, std::string_view key, std::vector<T>& out,
            Result<T> (*from_json)(const Json&, const std::string&)) {
  // In front of the text stands as much as in the source, so that the parser counts as its editor.
  const std::string padded =
      std::string(comment.line - 1, '\n') + std::string(comment.column - 1, ' ') + comment.text;
  KW_TRY(Json value, parse_json(padded));
  auto one = from_json(value, std::string(key));
  if (!one) {
    Error error = std::move(one).error();
    const std::string place =
        fmt::format("line {}, column {}", comment.line, column_of(comment, error.message()));
    return tl::unexpected(std::move(error).with_context(place));
  }
  if (out.size() == kMaxComments)
    return fail(ErrorCode::kInvalidArgument, "line {}: more than {} of \"// {}:\"", comment.line,
                kMaxComments, key);
  out.push_back(std::move(*one));
  return {};
}

}  // namespace

Result<DeviceComments> device_comments(std::string_view source) {
  DeviceComments out;
  for (const CommentLine& comment : comment_lines(source, "launch"))
    KW_TRY_STATUS(read(comment, "launch", out.launches, launch_from_json));
  for (const CommentLine& comment : comment_lines(source, "scratch"))
    KW_TRY_STATUS(read(comment, "scratch", out.scratch, scratch_from_json));
  return out;
}

}  // namespace kw::task
