// Launch descriptors of device-only candidates: which kernels run, with what grid, block, shared
// memory and arguments, as small integer expressions over the problem's axes. The grammar is part
// of the candidate's hash: docs/formats/solution.md.
#pragma once
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "task/launch_expression.h"

namespace kw::task {

// The pointer of an input, static, output or scratch buffer, or a host scalar input by value.
struct TensorArgument {
  std::string name;
};
struct IntegerArgument {
  int bits = 32;  // 32 or 64
  LaunchExpression value;
};
struct FloatArgument {
  int bits = 32;  // 32 or 64
  double value = 0;
};
using LaunchArgument = std::variant<TensorArgument, IntegerArgument, FloatArgument>;

struct LaunchDescriptor {
  std::string kernel;                             // symbol in the device code
  std::vector<LaunchExpression> grid, block;      // 1 to 3 each; those left out are 1
  std::optional<LaunchExpression> shared_memory;  // dynamic, in bytes; none: 0
  // In the kernel's order; nullopt: the signature's (inputs, statics, outputs, variable axes).
  std::optional<std::vector<LaunchArgument>> arguments;
  std::vector<LaunchExpression> cluster = {};  // empty: no clusters
  bool cooperative = false;                    // blocks may wait for each other
  bool dependent = false;                      // programmatic dependent launch
};

// Memory that launches hand to each other; only its name is known to arguments.
struct ScratchDescriptor {
  std::string name;
  LaunchExpression bytes;
  bool zeroed = false;  // before the first launch of every call, in the timed part
};

Json to_json(const LaunchDescriptor& launch);
// where: the field's path in messages.
Result<LaunchDescriptor> launch_from_json(const Json& value, const std::string& where);
Json to_json(const ScratchDescriptor& scratch);
Result<ScratchDescriptor> scratch_from_json(const Json& value, const std::string& where);

}  // namespace kw::task
