// Reads a cubin's facts about its kernels: names, parameters, registers, shared memory.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "task/launch_plan.h"

namespace kw::gym {

struct CubinParameter {
  std::int64_t offset = 0, bytes = 0;  // in the kernel's parameter space
};

struct CubinKernel {
  std::string name;  // symbol
  // In their order. nullopt: the cubin does not say.
  std::optional<std::vector<CubinParameter>> parameters;
  std::int64_t registers = 0;     // of a thread; 0: not said
  std::int64_t shared_bytes = 0;  // static, of a block
};

// kInvalidArgument: not an ELF file of CUDA's machine, headers or symbols outside the file, over
// 64 MiB, or no kernel. Pure; every offset is checked, so bytes may come from anybody.
Result<std::vector<CubinKernel>> read_cubin(std::string_view bytes);

// Holds the launches of one module against its kernels. kInvalidArgument: a kernel that is not
// there (with the nearest name), another number of arguments, or an argument of another size than
// its parameter (where the cubin says that).
Status check_launches(const task::LaunchPlan& plan, std::size_t module,
                      const std::vector<CubinKernel>& kernels);

}  // namespace kw::gym
