// The oracle's description of a module. The oracle runs the problem's own code, so its text is read
// like a stranger's file: bounded, with every field checked.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "task/signature.h"

namespace kw::gym {

struct ModuleDescription {
  task::Signature signature;
  std::vector<bool> static_is_constant;  // all elements equal in the reference as built
  std::string init_args;                 // Python literal
  // Inputs that get_inputs() makes with other strides; everybody gets them contiguous.
  std::vector<std::string> views;
  bool random_in_forward = false;
};

// kInvalidArgument names the field; kUnsupported for more inputs or outputs than a page has room
// for.
Result<ModuleDescription> module_description_from_json(std::string_view text);

}  // namespace kw::gym
