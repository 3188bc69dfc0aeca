// The texts. Each code passes the gym as an answer to its reference (docs/prompts.md).
#include "prompt/worked_example.h"

#include "base/text.h"
#include "prompt/chat.h"
#include "prompt/extract.h"

namespace kw::prompt {
namespace {

constexpr std::string_view kRunReference = R"(import torch

def run(a, b):
    return a + b)";

constexpr std::string_view kModuleReference = R"(import torch

class Model(torch.nn.Module):
    def forward(self, a, b):
        return a + b)";

constexpr std::string_view kCppInterface = R"(extern "C" void run(
    const float* a,  // [N] float32
    const float* b,  // [N] float32
    float* out,      // [N] float32
    int64_t N);)";

constexpr std::string_view kCppCode =
    R"(extern "C" void run(const float* __restrict a, const float* __restrict b, float* __restrict out,
                    int64_t N) {
  for (int64_t i = 0; i < N; ++i) out[i] = a[i] + b[i];
})";

constexpr std::string_view kPythonRun = R"(import torch

def run(a, b):
    return torch.add(a, b))";

constexpr std::string_view kPythonModule = R"(import torch

class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return torch.add(a, b))";

constexpr std::string_view kTritonRun = R"(import torch
import triton
import triton.language as tl

@triton.jit
def add_kernel(a_ptr, b_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    a = tl.load(a_ptr + offsets, mask=inside)
    b = tl.load(b_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, a + b, mask=inside)

def run(a, b):
    out = torch.empty_like(a)
    n = out.numel()
    add_kernel[(triton.cdiv(n, 1024),)](a, b, out, n, BLOCK=1024)
    return out)";

constexpr std::string_view kTritonModule = R"(import torch
import triton
import triton.language as tl

@triton.jit
def add_kernel(a_ptr, b_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    a = tl.load(a_ptr + offsets, mask=inside)
    b = tl.load(b_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, a + b, mask=inside)

class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        out = torch.empty_like(a)
        n = out.numel()
        add_kernel[(triton.cdiv(n, 1024),)](a, b, out, n, BLOCK=1024)
        return out)";

}  // namespace

WorkedExample worked_example(task::Language language, bool is_module) {
  std::string_view reference = is_module ? kModuleReference : kRunReference;
  switch (language) {
    case task::Language::kCpp:
      return {reference, kCppInterface, kCppCode};
    case task::Language::kPython:
      return {reference, "", is_module ? kPythonModule : kPythonRun};
    case task::Language::kTriton:
      return {reference, "", is_module ? kTritonModule : kTritonRun};
    default:
      return {};
  }
}

std::string example_section(task::Language language, bool is_module) {
  WorkedExample example = worked_example(language, is_module);
  std::string out = "Another problem, an element-wise sum, has this reference:\n" +
                    fenced(example.reference, "python");
  if (!example.interface.empty())
    out += "and this prototype in `problem.h`:\n" + fenced(example.interface, fence_tag(language));
  return out + "An answer to it has this code:\n" + fenced(example.code, fence_tag(language));
}

}  // namespace kw::prompt
