#include "train/parallel/collectives.h"

#include <ATen/ATen.h>

#include "base/json.h"
#include "train/parallel/agreement.h"
#include "train/parallel/gloo_collectives.h"
#include "train/parallel/nccl_collectives.h"

namespace kw::train {

void Collectives::barrier(at::Device device) {
  const double one = 1;
  sum_over_ranks(*this, device, {&one, 1});
}

std::vector<double> sum_over_ranks(Collectives& ranks, at::Device device,
                                   std::span<const double> mine) {
  std::vector<double> out(mine.begin(), mine.end());
  if (ranks.size() == 1) return out;
  at::Tensor values = at::tensor(out, at::kDouble).to(device);
  ranks.all_reduce(values);
  const at::Tensor host = values.cpu();
  out.assign(host.const_data_ptr<double>(), host.const_data_ptr<double>() + host.numel());
  return out;
}

Result<std::unique_ptr<Collectives>> make_collectives(Group& group, at::Device device) {
  // With more ranks than GPUs some find none: Gloo and NCCL would wait for each other.
  KW_TRY_STATUS(agree(group, {{"device", device.is_cuda() ? "a GPU" : "the CPU"}}));
  return device.is_cuda() ? make_nccl(group, device) : make_gloo(group);
}

}  // namespace kw::train
