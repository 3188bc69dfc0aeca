// The device, the dtype and the threads that a run's settings name, and torch's exceptions as
// errors.
#pragma once
#include <cstdint>
#include <new>
#include <string>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/util/Exception.h>

#include "base/result.h"
#include "lm/model/model_config.h"
#include "train/parallel/collective_error.h"

namespace kw::train {

// cpu, cuda, or auto: cuda where there is one. kUnsupported without a CUDA device.
Result<at::Device> device_of(const std::string& name);
// float32, bfloat16, or auto: bfloat16 on a GPU.
at::ScalarType dtype_of(const std::string& name, at::Device device);
// Before memory of the device is taken: settings of the allocator, and the kernels, which are
// compiled where they are not kept from before. kUnsupported: sizes that a GPU is not trained with.
Status prepare_device(at::Device device, const lm::ModelConfig& config);
// Returns when all that torch has begun there is done.
void wait_for(at::Device device);
// The most that was ever allocated for tensors, in bytes; 0 on a CPU.
std::uint64_t peak_bytes(at::Device device);
// Sets the CPU's threads; 0: all cores, which the processes of this machine that train together
// share.
void set_threads(std::int64_t threads, std::int64_t processes = 1);

// torch's exceptions end here. Its allocator's message names sizes only.
template <typename Body>
auto without_exceptions(const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (const c10::OutOfMemoryError& e) {
    return fail(ErrorCode::kResourceExhausted,
                "the GPU's memory is full: lower micro_tokens or head_chunk, or set recompute=true "
                "(--plan shows what takes how much). {}",
                e.what_without_backtrace());
  } catch (const c10::Error& e) {
    return fail(ErrorCode::kInternal, "torch: {}", e.what_without_backtrace());
  } catch (const CollectiveError& e) {
    return fail(ErrorCode::kUnavailable, "{}", e.what());
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kResourceExhausted,
                "memory is full: lower micro_tokens, or set recompute=true");
  }
}

// Measures what a product of a model's width reaches here, in FLOP a second; training reaches about
// half.
double measured_rate(at::Device device, at::ScalarType dtype, std::int64_t width);

}  // namespace kw::train
