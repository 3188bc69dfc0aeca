// A model with fewer tokens: those that a data set uses, and all bytes.
#pragma once
#include <cstddef>
#include <filesystem>

#include "base/result.h"
#include "lm/import/gguf_import.h"

namespace kw::lm {

struct CutReport {
  std::size_t tokens_before = 0, tokens_after = 0;
  std::size_t bytes_added = 0;  // bytes that had no token
  std::size_t rows = 0;         // of the data set
};

// Keeps the tokens that `data` is encoded with, those that merge into them, all single bytes and
// all added tokens. So the data set has the same tokens as before, under other numbers; other text
// has more tokens than it had. A byte without a token gets one, whose embedding is the mean of all.
//
// data: JSON Lines. Rows with "messages" are rendered with the model's chat template; of every row
// all texts are encoded. kNotFound and kInvalidArgument name the file and the line. model is of
// byte-level BPE, as read_gguf_model makes it.
Result<CutReport> cut_vocabulary(ImportedModel& model, const std::filesystem::path& data);

}  // namespace kw::lm
