#include "train/run/teacher.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace kw::train {
namespace {

namespace fs = std::filesystem;

Status check_tokens(const fs::path& folder, const Student& student) {
  KW_TRY(const lm::ModelConfig config, lm::read_model_config(folder));
  if (config.vocabulary != student.config.vocabulary)
    return fail(ErrorCode::kInvalidArgument,
                "{} has {} tokens, and the model {}: distillation needs the same tokens",
                folder.string(), config.vocabulary, student.config.vocabulary);
  KW_TRY(const lm::Tokenizer tokenizer, lm::Tokenizer::load(folder));
  const std::size_t count = std::max(tokenizer.size(), student.tokenizer.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto id = static_cast<lm::TokenId>(i);
    if (tokenizer.token_text(id) != student.tokenizer.token_text(id))
      return fail(ErrorCode::kInvalidArgument,
                  "token {} of {} is \"{}\", and that of the model \"{}\": distillation needs the "
                  "same tokens",
                  i, folder.string(), printable(tokenizer.token_text(id), 40),
                  printable(student.tokenizer.token_text(id), 40));
  }
  return {};
}

Result<OpenModel> open(const fs::path& folder, const Student& student) {
  KW_TRY_STATUS(check_tokens(folder, student));
  ModelSettings settings = student.settings;
  settings.model = folder;
  settings.new_weights = false;
  return open_reference(settings);
}

}  // namespace

Result<OpenModel> open_teacher(const fs::path& folder, const Student& student) {
  auto out = open(folder, student);
  if (!out) return tl::unexpected(std::move(out).error().with_context("teacher"));
  return out;
}

}  // namespace kw::train
