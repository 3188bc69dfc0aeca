// Opens a teacher: a model that is not trained, and has the tokens of the one that is.
#pragma once
#include <filesystem>

#include "base/result.h"
#include "lm/model/model_config.h"
#include "lm/tokenizer/tokenizer.h"
#include "train/run/open_model.h"

namespace kw::train {

// student: settings, shape and tokenizer of the model that is trained. kInvalidArgument where the
// teacher's vocabulary has another size or another token; else errors as of open_reference. All
// begin with "teacher".
struct Student {
  const ModelSettings& settings;
  const lm::ModelConfig& config;
  const lm::Tokenizer& tokenizer;
};
Result<OpenModel> open_teacher(const std::filesystem::path& folder, const Student& student);

}  // namespace kw::train
