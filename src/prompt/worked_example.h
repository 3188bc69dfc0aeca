// The one shot of one-shot prompts: an element-wise sum, asked for and answered.
#pragma once
#include <string>
#include <string_view>

#include "task/candidate.h"

namespace kw::prompt {

// In the form that a problem of this kind asks for (cpp has one form for both). Both are empty for
// languages without prompts.
struct WorkedExample {
  std::string_view reference;  // Python; for cpp the prototype follows as `interface`
  std::string_view interface;  // cpp only
  std::string_view code;
};
WorkedExample worked_example(task::Language language, bool is_module);

// The example as Markdown.
std::string example_section(task::Language language, bool is_module);

}  // namespace kw::prompt
