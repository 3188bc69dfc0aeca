// The four lines in front of an answer's code.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace kw::writer {

// Each without its name: what stands behind the colon.
struct AnswerPlan {
  std::string operators;  // "mm > mul(0.5)", as operator_chain()
  std::string limit;      // "memory", as limit_of()
  std::string strategy;   // "fused: ..": a name, then words
  std::string
      tiling;  // the writer's: "lanes=64 side_by_side=4096", "block=512; relu_kernel BLOCK=512"
};

// Reads the lines "operators: ..", "limit: ..", "strategy: .." and "tiling: ..", one behind the
// other, from what stands before the first fence of an answer; each may be an item of a list ("- ",
// "* "). The answer comes without a model's reasoning. kInvalidArgument names the line that is
// missing, at another place, empty, or there twice.
Result<AnswerPlan> parse_plan(std::string_view answer);

}  // namespace kw::writer
