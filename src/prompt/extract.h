// Code out of a model's answer: fenced blocks of the right language, never anything from a
// reasoning section.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "task/candidate.h"

namespace kw::prompt {

// One fenced block outside reasoning sections.
struct CodeBlock {
  std::string
      tag;  // first word after the fence in lower case: "cpp", "python", "" when there is none
  std::string code;    // without the fences, the fence's own indentation removed
  bool closed = true;  // false: the answer ends inside the block
};

// Every block of the answer, in order. What stands in <think>, <thinking>, <thought> or <reasoning>
// is skipped, and so is everything before a closing tag without an opening one (chat templates open
// the section in the prompt).
std::vector<CodeBlock> code_blocks(std::string_view answer);

struct ExtractOptions {
  std::string entry;  // "run", "ModelNew": the last block with this word wins over later ones
                      // without it; empty: simply the last
  bool accept_unclosed = false;  // take a block whose closing fence is missing: only when the
                                 // caller knows that the answer was not cut off
};

// An answer without usable code is the model's failure and therefore a value: why_not is written
// for the model's next turn.
struct Extraction {
  std::string code;     // empty: nothing usable
  std::string why_not;  // empty when there is code
};

// The last block tagged with the language; when none is tagged so, the last block without a tag.
Extraction extract_code(std::string_view answer, task::Language language,
                        const ExtractOptions& options = {});

// The tag to ask for in a prompt: "cpp", "python", "cuda", ...
std::string_view fence_tag(task::Language language);

}  // namespace kw::prompt
