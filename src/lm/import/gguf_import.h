// A GGUF file as a model folder of Hugging Face, which the engine and transformers read.
#pragma once
#include <cstdint>
#include <filesystem>

#include "base/result.h"
#include "lm/import/gguf_tokenizer.h"
#include "lm/model/parameters.h"

namespace kw::lm {

struct ImportedModel {
  Parameters parameters;  // float32, with their configuration
  TokenizerFiles tokenizer;
};

// kNotFound, kInvalidArgument, kUnsupported and kDataLoss name the file and the key or tensor: one
// that is missing, left over, of another shape, or not finite. Llama's rotation is stored pair by
// pair in GGUF files: rows of q and k are put back.
Result<ImportedModel> read_gguf_model(const std::filesystem::path& file);

// Writes config.json, weights and tokenizer into `folder`, which has no model yet (kAlreadyExists).
Status write_model(const std::filesystem::path& folder, const ImportedModel& model,
                   WeightType type);

}  // namespace kw::lm
