// Collectives over NCCL, between GPUs: its C interface, of the libnccl.so.2 of torch's packages,
// loaded when it is needed.
#pragma once
#include <memory>

#include "base/result.h"
#include "train/parallel/collectives.h"

namespace kw::train {

// device: a GPU, another one for each rank. group: borrowed; a failure in it ends collectives that
// wait. kUnsupported: there is no NCCL; kUnavailable has NCCL's own reason.
Result<std::unique_ptr<Collectives>> make_nccl(Group& group, at::Device device);

}  // namespace kw::train
