// The tasks of our kernels, as the kernels see them.
#pragma once

namespace kw::gym::kernels {
#include "gym/cuda/kernels/tasks.cu"
}  // namespace kw::gym::kernels
