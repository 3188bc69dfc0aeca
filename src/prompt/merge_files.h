// Several files of one answer: which belong to the one that has the entry.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "prompt/blocks.h"
#include "task/candidate.h"

namespace kw::prompt {

// `chosen` first, then in order the other files of `blocks` that it needs (extract.h says which).
std::vector<task::SourceFile> merged_files(const CodeBlock& chosen,
                                           const std::vector<CodeBlock>& blocks,
                                           std::string_view entry, task::Language language);

}  // namespace kw::prompt
