// Compiler flags that a candidate may ask for. Everything else is refused by name: flags like
// -include or -wrapper would reach out of the build, others would change how the checker's view of
// memory is laid out.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw::task {

std::vector<std::string> allowed_flags();

// kInvalidArgument names the flag, with the nearest allowed one.
Status check_flags(const std::vector<std::string>& flags);

// The flags of all "// flags: A B" lines of a source, in order, each once. kInvalidArgument with
// the line for one not allowed.
Result<std::vector<std::string>> flags_in_comments(std::string_view source);

// The text after "// KEY:" of each line that is such a comment, with its line number and the
// column of the text (both from 1).
struct CommentLine {
  std::size_t line = 0, column = 0;
  std::string text;
};
std::vector<CommentLine> comment_lines(std::string_view source, std::string_view key);

}  // namespace kw::task
