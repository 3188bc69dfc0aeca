// Blocks of code in a model's answer, whatever form the model gave them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace kw::prompt {

// One block outside reasoning sections.
struct CodeBlock {
  std::string
      tag;  // first word after the fence in lower case: "cpp", "python", "" when there is none
  std::string code;       // without the fences, the fence's own indentation removed
  bool closed = true;     // false: the answer ends inside the block
  std::string file = {};  // "kernel.cu" when the answer names one for the block
};

struct AnswerParts {
  std::vector<CodeBlock> blocks;  // in order
  std::string prose;              // what is in no block and in no reasoning
  bool in_reasoning = false;      // the answer ends inside a reasoning section
};

// Reads an answer line by line; linear in its length.
// - What stands in <think>, <thinking>, <thought>, <thoughts>, <reasoning>, <analysis>,
//   <reflection> or <scratchpad> is skipped, and so is everything before a closing tag without an
//   opening one (chat templates open the section in the prompt) and before the final channel of
//   answers with channels.
// - A block is fenced with ``` or ~~~ (CommonMark: a fence closes with at least as many marks, less
//   than four columns further in), also quoted with >, after a colon on a line of prose, closed
//   behind the last line of code, or never closed before the next fence with a tag. Fences inside a
//   block tagged markdown are blocks of their own.
// - A byte order mark, zero-width and no-break spaces beside a fence do not hide it
//   (plain_fences.h).
// - <cuda_file name="kernel.cu"> and <kernel.cu> are blocks with a file name, as the prompts of
//   FlashInfer-Bench ask for. Other names come from the fence (```cpp kernel.cu), from a heading
//   right before it or from a first line that is a comment with nothing else.
AnswerParts answer_parts(std::string_view answer);
std::vector<CodeBlock> code_blocks(std::string_view answer);

}  // namespace kw::prompt
