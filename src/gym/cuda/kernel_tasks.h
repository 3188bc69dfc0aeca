// What our kernels are told, as the kernels see it.
#pragma once

namespace kw::gym::kernels {
#include "gym/cuda/kernels/tasks.cu"
}  // namespace kw::gym::kernels
