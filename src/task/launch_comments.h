// "// launch: {...}" and "// scratch: {...}" lines of device code: docs/formats/solution.md.
#pragma once
#include <string_view>
#include <vector>

#include "base/result.h"
#include "task/launch.h"

namespace kw::task {

struct DeviceComments {
  std::vector<LaunchDescriptor> launches;  // in the order of the lines
  std::vector<ScratchDescriptor> scratch;
};

// kInvalidArgument names line and column: "line 3, column 28: launch.grid[0]: ...". No comments:
// both are empty.
Result<DeviceComments> device_comments(std::string_view source);

}  // namespace kw::task
