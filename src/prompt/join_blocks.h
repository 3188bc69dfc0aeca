// A kernel in one block of an answer and what calls it in the next.
#pragma once
#include <string>
#include <vector>

#include "prompt/blocks.h"
#include "task/candidate.h"

namespace kw::prompt {

// The chosen block's code with those of the earlier blocks in front that define a name which the
// code behind them uses and lacks: functions, classes, imports and constants in Python; functions,
// types and macros in C++. Comments, texts, attributes and names that the code binds itself are no
// uses. As it is where none does. Nothing is run.
std::string joined_code(const CodeBlock& chosen, const std::vector<const CodeBlock*>& earlier,
                        task::Language language);

}  // namespace kw::prompt
