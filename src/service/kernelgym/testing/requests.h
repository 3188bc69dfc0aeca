// Requests of KernelGYM's clients, for tests.
#pragma once
#include <string>

#include "base/json.h"

namespace kw::service::kernelgym::testing {

// An EvaluationRequest about relu, with other values for some keys.
inline Json request_body(const std::string& task_id, const Json& changes) {
  Json out = {{"task_id", task_id},
              {"reference_code",
               "import torch\n"
               "class Model(torch.nn.Module):\n"
               "    def forward(self, x):\n        return torch.relu(x)\n"
               "def get_inputs():\n    return [torch.randn(64)]\n"
               "def get_init_inputs():\n    return []\n"},
              {"kernel_code",
               "import torch\n"
               "class ModelNew(torch.nn.Module):\n"
               "    def forward(self, x):\n        return x.clamp(min=0)\n"}};
  for (const auto& [key, value] : changes.items()) out[key] = value;
  return out;
}

}  // namespace kw::service::kernelgym::testing
