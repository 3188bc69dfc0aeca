// Opens the model of a run: parameters, the weights that are trained over them, and the decoder.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "base/result.h"
#include "lm/model/parameters.h"
#include "train/model/decoder.h"
#include "train/model/weights.h"
#include "train/run/setting_checks.h"

namespace kw::train {

struct ModelSettings {
  std::filesystem::path model;  // folder of the model to begin with
  bool new_weights = false;     // random ones: the folder has config.json alone
  std::uint64_t seed = 0;       // of new weights and new adapters
  std::int64_t max_tokens = 0;  // of a sequence
  std::int64_t recompute_layers = 0;
  std::string device = "auto", dtype = "auto";  // as in SftSettings
  LoraSettings lora;
  int rank = 0, ranks = 1;  // that train the model together
  bool by_engine = false;   // the policy's forward pass is the engine's on a GPU (DecoderSettings)
  bool muon = false;        // whether it is trained so, which moves the borders of their shards
};

// A model's weights in the form of the engine and in that of the trainer.
struct OpenModel {
  std::unique_ptr<lm::Parameters> parameters;  // what the others borrow does not move
  std::unique_ptr<Weights> weights;
  std::unique_ptr<Decoder> decoder;
};

// To train it. checkpoint: of the run that goes on, whose training state is loaded afterwards;
// empty: none. An adapter is always beside the model to begin with. kInvalidArgument names the
// setting; else errors as of lm::load_checkpoint and lm::load_lora.
Result<OpenModel> open_model(const ModelSettings& settings,
                             const std::filesystem::path& checkpoint = {});
// With the rank, alpha and targets of the adapter that is named, if one is.
Result<LoraSettings> with_shape_of_adapter(LoraSettings settings);
// The model to begin with, which is not trained.
Result<OpenModel> open_reference(const ModelSettings& settings);

}  // namespace kw::train
