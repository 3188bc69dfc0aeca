// The Python around the kernels: run().
#pragma once
#include <string>
#include <vector>

#include "task/signature.h"
#include "writer/triton/launch.h"
#include "writer/triton/triton_source.h"

namespace kw::writer::triton {

// kUnsupported: a size that no input's shape tells.
Result<std::string> run_text(const Graph& graph, const Program& program,
                             const std::vector<Launch>& launches, TritonForm form);
std::string torch_type(tensor::DType dtype);  // "torch.float32"

}  // namespace kw::writer::triton
