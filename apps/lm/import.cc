#include "import.h"

#include <fmt/format.h>

#include "base/text.h"
#include "lm/import/cut_vocabulary.h"
#include "lm/import/gguf_import.h"

namespace kw::lm_program {

Status import(const Json& settings) {
  KW_TRY(ObjectReader reader, ObjectReader::make(settings, "settings"));
  KW_TRY(std::string file, reader.string("file"));
  KW_TRY(std::string out, reader.string("out"));
  KW_TRY(std::string dtype, reader.string("dtype"));
  KW_TRY(std::string data, reader.string("cut_vocabulary"));
  KW_TRY_STATUS(reader.no_other_keys());
  const auto type = lm::weight_type_from_string(dtype);
  if (!type) return fail(ErrorCode::kInvalidArgument, "dtype \"{}\" is unknown", dtype);
  KW_TRY(lm::ImportedModel model, lm::read_gguf_model(file));
  if (!data.empty()) {
    KW_TRY(lm::CutReport cut, lm::cut_vocabulary(model, data));
    fmt::print(stderr, "{} rows: {} of {} tokens kept, {} of them bytes that had none\n", cut.rows,
               cut.tokens_after, cut.tokens_before, cut.bytes_added);
  }
  KW_TRY_STATUS(lm::write_model(out, model, *type));
  const lm::ModelConfig& config = model.parameters.config();
  fmt::print("{}: {} of {:.1f} M parameters, {} layers, {} tokens\n", out,
             lm::to_string(config.family), static_cast<double>(config.parameters()) / 1e6,
             config.layers, config.vocabulary);
  fmt::print(stderr, "next: kernelwright generate --model {} --chat TEXT\n", out);
  return {};
}

}  // namespace kw::lm_program
