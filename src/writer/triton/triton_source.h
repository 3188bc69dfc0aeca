// A graph's loops as a Triton candidate: one Python file of kernels and the host code that launches
// them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "task/signature.h"
#include "writer/loops/loops.h"
#include "writer/triton/triton_tuning.h"

namespace kw::writer {

struct TritonStrategy {
  std::string_view name;  // "naive"
  std::string_view plan;  // a sentence
  TritonTuning tuning;    // its usual one
};

// From the one that is most often fastest to the plainest.
const std::vector<TritonStrategy>& triton_strategies();

enum class TritonForm {
  kReturns,   // run(inputs..) that returns the outputs
  kWrites,    // run(inputs.., outputs..)
  kModelNew,  // the class; its state is of the signature's shapes
};

struct TritonFile {
  std::string source;
  std::vector<std::string> tiling;  // one part for each kernel: "softmax_max_kernel BLOCK=128"
};

// Sizes are read from x.shape when it runs. kInvalidArgument when the signature's tensors are not
// the program's; kUnsupported names what Triton has no text for, and a size that no input's shape
// tells; kNotFound an unknown strategy.
Result<TritonFile> triton_source(const Graph& graph, const Program& program,
                                 const task::Signature& signature, std::string_view strategy,
                                 const TritonTuning& tuning, TritonForm form);

}  // namespace kw::writer
