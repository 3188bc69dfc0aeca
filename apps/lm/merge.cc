#include "merge.h"

#include <fmt/format.h>

#include "lm/model/checkpoint.h"
#include "lm/model/lora.h"

namespace kw::lm_program {

Status merge(const Json& settings) {
  KW_TRY(ObjectReader reader, ObjectReader::make(settings, "settings"));
  KW_TRY(std::string model, reader.string("model"));
  KW_TRY(std::string folder, reader.string("adapter"));
  KW_TRY(std::string out, reader.string("out"));
  KW_TRY(std::string dtype, reader.string("dtype"));
  KW_TRY_STATUS(reader.no_other_keys());
  KW_TRY(const lm::ModelConfig config, lm::read_model_config(model));
  if (dtype.empty()) dtype = config.dtype == "float32" ? "float32" : "bfloat16";
  const auto type = lm::weight_type_from_string(dtype);
  if (!type) return fail(ErrorCode::kInvalidArgument, "dtype \"{}\" is unknown", dtype);
  KW_TRY(lm::Parameters parameters, lm::load_checkpoint(model, config, lm::WeightType::kFloat32));
  KW_TRY(const lm::LoraAdapter adapter, lm::load_lora(folder, parameters));
  lm::merge_lora(parameters, adapter);
  KW_TRY_STATUS(lm::save_checkpoint(out, parameters, {.type = *type}));
  KW_TRY_STATUS(lm::copy_tokenizer_files(model, out));
  fmt::print("{}: {} with {} projections of rank {} added, {}\n", out, model,
             adapter.matrices.size(), adapter.shape.rank, dtype);
  fmt::print(stderr, "next: kernelwright generate --model {} --chat TEXT\n", out);
  return {};
}

}  // namespace kw::lm_program
