// The file that a GPU executor gets as its program: a launch plan and the bytes that it names.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "task/launch_plan.h"

namespace kw::gym {

struct PlanContents {
  task::LaunchPlan plan;
  // One for each of the plan's modules and constants, of the size and hash that the plan says.
  std::vector<std::string> modules, constants;
};

// kInvalidArgument: contents that do not fit the plan.
Result<std::string> write_plan_file(const PlanContents& contents);
// kInvalidArgument: another format, a damaged file, bytes too few or too many. Pure; every length
// is checked.
Result<PlanContents> read_plan_file(std::string_view file);

}  // namespace kw::gym
