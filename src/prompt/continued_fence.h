// Answers that go on inside a fence which the prompt opened ("...```python" as the answer's begin).
#pragma once
#include <string>
#include <string_view>

#include "task/candidate.h"

namespace kw::prompt {

// The answer with that fence in front of its code. An answer is of this kind when the first fence
// in it has no tag, nothing of the answer stands in reasoning before it, and what stands before it
// defines the entry; any other answer comes back as it is. The entry is not empty.
std::string with_opening_fence(std::string_view answer, std::string_view entry,
                               task::Language language);

}  // namespace kw::prompt
