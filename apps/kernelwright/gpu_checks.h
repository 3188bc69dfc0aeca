// gpu_checks() makes the lines that doctor shows of the GPUs.
#pragma once
#include <functional>
#include <vector>

#include "base/result.h"
#include "cuda/device_facts.h"
#include "sandbox/doctor.h"

namespace kw::front {

using GpuState = std::function<Result<cuda::DeviceState>(int number)>;

// gpus: as cuda::list_devices() says. Several checks a GPU; one where there is none.
std::vector<sandbox::HealthCheck> gpu_checks(const Result<std::vector<cuda::DeviceFacts>>& gpus,
                                             const GpuState& state_of);

}  // namespace kw::front
