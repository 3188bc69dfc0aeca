#include "train/run/open_model.h"

#include <utility>

#include "lm/model/checkpoint.h"
#include "lm/model/lora.h"
#include "train/optimizer/optimizer.h"
#include "train/run/device.h"

namespace kw::train {
namespace {

namespace fs = std::filesystem;

Result<lm::LoraAdapter> adapter_of(const ModelSettings& settings,
                                   const lm::Parameters& parameters) {
  const LoraSettings& lora = settings.lora;
  if (!lora.adapter.empty()) return lm::load_lora(lora.adapter, parameters);
  KW_TRY(lm::LoraAdapter out,
         lm::new_lora(parameters, {lora.rank, lora.alpha, lora.targets}, settings.seed));
  out.base_model = settings.model.string();
  return out;
}

Result<OpenModel> open(const ModelSettings& settings, const fs::path& folder, bool trains) {
  KW_TRY(const lm::ModelConfig config, lm::read_model_config(folder));
  if (settings.max_tokens > config.max_position)
    return fail(ErrorCode::kInvalidArgument,
                "max_tokens: {} is over {}, the model's max_position_embeddings",
                settings.max_tokens, config.max_position);
  const bool begins = settings.new_weights && folder == settings.model;
  KW_TRY(lm::Parameters parameters,
         begins ? lm::Parameters::make(config, lm::WeightType::kFloat32)
                : lm::load_checkpoint(folder, config, lm::WeightType::kFloat32));
  if (begins) lm::initialise(parameters, settings.seed);
  KW_TRY(const at::Device device, device_of(settings.device));
  if (device.is_cuda() && settings.dtype == "float32")
    return fail(ErrorCode::kUnsupported, "dtype: on a GPU, bfloat16 alone is trained");
  KW_TRY_STATUS(prepare_device(device, config));
  const at::ScalarType dtype = dtype_of(settings.dtype, device);
  OpenModel out;
  out.parameters = std::make_unique<lm::Parameters>(std::move(parameters));
  if (trains && settings.lora.trains_adapter()) {
    KW_TRY(lm::LoraAdapter adapter, adapter_of(settings, *out.parameters));
    out.weights = std::make_unique<Weights>(*out.parameters, device, dtype, std::move(adapter));
  } else if (trains && settings.ranks > 1) {
    Sharding sharding{model_shards(*out.parameters, settings.muon, settings.ranks),
                      static_cast<std::size_t>(settings.rank)};
    out.weights = std::make_unique<Weights>(*out.parameters, device, dtype, std::move(sharding));
  } else {
    out.weights = std::make_unique<Weights>(*out.parameters, device, dtype, trains);
  }
  DecoderSettings decoder{.context = settings.max_tokens,
                          .recompute_layers = settings.recompute_layers};
  if (trains && device.is_cuda() && settings.by_engine) {
    KW_TRY_STATUS(cuda::EngineForward::check(config, settings.max_tokens));
    decoder.by_engine = true;
  }
  out.decoder = std::make_unique<Decoder>(*out.weights, decoder);
  return out;
}

}  // namespace

Result<OpenModel> open_model(const ModelSettings& settings, const fs::path& checkpoint) {
  const bool from_checkpoint = !checkpoint.empty() && !settings.lora.trains_adapter();
  return open(settings, from_checkpoint ? checkpoint : settings.model, true);
}

Result<LoraSettings> with_shape_of_adapter(LoraSettings settings) {
  if (settings.adapter.empty()) return settings;
  KW_TRY(lm::LoraShape shape, lm::read_lora_shape(settings.adapter));
  settings.rank = shape.rank;
  settings.alpha = shape.alpha;
  settings.targets = std::move(shape.targets);
  return settings;
}

Result<OpenModel> open_reference(const ModelSettings& settings) {
  return open(settings, settings.model, false);
}

}  // namespace kw::train
