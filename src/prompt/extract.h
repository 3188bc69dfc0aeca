// The candidate's source files out of a model's answer.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "prompt/blocks.h"
#include "task/candidate.h"
#include "text/finish.h"

namespace kw::prompt {

struct ExtractOptions {
  std::string entry;  // "run", "ModelNew": what the code must define; empty: anything goes
  std::optional<text::Finish> finish;  // nullopt: nobody knows why the model stopped
  // Code that stood in the prompt (a previous attempt, the example, the reference): taken only when
  // the answer has nothing else.
  std::vector<std::string> shown = {};
};

enum class Extracted {
  kCode,
  kNoBlock,    // no code at all
  kNoEntry,    // code, but none of it has the entry, or is in the language
  kTruncated,  // the answer was cut off before its code ended
};
std::string_view to_string(Extracted outcome);  // "code", "no_block", ...

// An answer without usable code is the model's failure and therefore a value.
struct Extraction {
  Extracted outcome = Extracted::kNoBlock;
  std::vector<task::SourceFile> files = {};  // kCode: the file with the entry first
  bool echo = false;                         // the code stood in the prompt already
  bool repaired = false;                     // its block was not closed, or not fenced
  std::string why_not = {};                  // no code: a sentence for the model's next turn

  const std::string& code() const;  // of the first file; empty when there is none
};

// Among the blocks (blocks.h; strings of JSON; an answer that is code without any fence, or that
// goes on inside a fence of the prompt, continued_fence.h) the last
// one wins of those that rank highest: it defines the entry, or at least has its name; it did not
// stand in the prompt; it is tagged with the language, or has no tag, or (only when it defines the
// entry) another tag. A block that ends with the answer counts when the model stopped by itself;
// when it was cut off, or nobody knows, an earlier whole block that defines the entry is taken, and
// else the outcome is kTruncated.
//
// Where the block lacks names that earlier blocks of the language define, these go in front of it
// (join_blocks.h): models show a kernel in one block and its wrapper in the next.
//
// A language whose files are not text (cubin) has no code in any answer: kNoBlock.
//
// Files: with a file of the C family that has a name, all other named ones (the last of each name)
// but tests, those with a main and those that define the entry too; otherwise what the code
// includes or imports of the answer's named files. A file without a name is called
// "kernel.cpp", "kernel.cu", "kernel.py" or "kernel.ptx"; is_file_name() holds for every name.
Extraction extract_code(std::string_view answer, task::Language language,
                        const ExtractOptions& options = {});

// The tag to ask for in a prompt: "cpp", "python", "cuda", ...
std::string_view fence_tag(task::Language language);
// Whether the code defines the name at its top level, as far as can be seen without running it.
bool defines_entry(std::string_view code, std::string_view entry, task::Language language);

}  // namespace kw::prompt
