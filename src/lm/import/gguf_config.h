// The configuration of a model in a GGUF file, as Hugging Face's config.json has it.
#pragma once
#include "base/result.h"
#include "lm/model/model_config.h"
#include "tensor/gguf.h"

namespace kw::lm {

// Architectures llama, qwen2 and qwen3. kInvalidArgument names the key of the metadata;
// kUnsupported names an architecture, a rotation or a frequency table that the engine has not.
Result<ModelConfig> config_of(const tensor::GgufFile& file);

// "rope_freqs.weight": Llama 3.1's rotation as a table. It is a part of the configuration.
inline constexpr const char* kRopeTable = "rope_freqs.weight";

}  // namespace kw::lm
