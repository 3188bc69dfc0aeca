// The target "cuda": launch plans on a GPU, judged by a checker whose tensors lie on that GPU.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "cuda/device_facts.h"
#include "gym/gym.h"

namespace kw::gym {

// Finds the GPUs of the target; tests give what they like.
using FindGpus = std::function<Result<std::vector<cuda::DeviceFacts>>()>;

// Starts nothing before it is needed. Without a GPU its verdicts are `unsupported` and say what is
// missing.
std::unique_ptr<Target> make_cuda_target(GymOptions options, FindGpus find = cuda::list_devices);

}  // namespace kw::gym
