// The tokenizer of a GGUF file, as Hugging Face's tokenizer.json and tokenizer_config.json.
#pragma once
#include "base/json.h"
#include "base/result.h"
#include "tensor/gguf.h"

namespace kw::lm {

struct TokenizerFiles {
  Json tokenizer;  // tokenizer.json
  Json config;     // tokenizer_config.json, with the chat template
};

// Byte-level BPE ("gpt2"). kUnsupported names other models and the pre-tokenizers
// (tokenizer.ggml.pre) that are not known; kInvalidArgument names the key that is wrong.
Result<TokenizerFiles> tokenizer_of(const tensor::GgufFile& file);

}  // namespace kw::lm
