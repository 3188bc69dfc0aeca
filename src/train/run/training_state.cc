#include "train/run/training_state.h"

#include <algorithm>
#include <cstring>

#include <ATen/ATen.h>

#include "lm/model/checkpoint.h"
#include "os/file.h"
#include "os/memory.h"
#include "tensor/safetensors.h"
#include "train/run/checkpoint_folders.h"

namespace kw::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStateFile = "optimizer.safetensors";
constexpr const char* kAdapterFolder = "adapter";
constexpr const char* kAheadFile = "ahead.jsonl";
constexpr const char* kAverage = "average";

struct Block {
  const char* name;
  at::Tensor values;  // float32, one dimension
};

// They are in the host's memory.
Status write_blocks(const fs::path& path, const std::vector<Block>& blocks,
                    const std::function<void()>& between) {
  std::vector<tensor::TensorView> views;
  for (const Block& one : blocks)
    views.push_back(
        {one.name, tensor::DType::kFloat32, {one.values.numel()}, one.values.const_data_ptr()});
  return tensor::write_safetensors(path, views, between);
}

Status read_block(const fs::path& path, const os::Mapping& file,
                  const std::vector<tensor::SafetensorsEntry>& entries, const Block& into) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const auto& one) { return one.name == into.name; });
  if (found == entries.end())
    return fail(ErrorCode::kDataLoss, "{}: tensor {} is missing", path.string(), into.name);
  if (found->dtype != tensor::DType::kFloat32 || found->shape != std::vector{into.values.numel()})
    return fail(ErrorCode::kInvalidArgument,
                "{}: tensor {} is of another model: expected {} float32 numbers", path.string(),
                into.name, into.values.numel());
  at::Tensor host = at::empty(into.values.sizes(), at::kFloat);
  std::memcpy(host.mutable_data_ptr(), file.data() + found->offset, host.nbytes());
  if (!host.isfinite().all().item<bool>())
    return fail(ErrorCode::kDataLoss, "{}: tensor {} is not finite", path.string(), into.name);
  at::Tensor target = into.values;
  target.copy_(host);
  return {};
}

}  // namespace

Snapshot::Snapshot(lm::Parameters parameters, const Weights& weights, const Optimizer& optimizer)
    : parameters_(std::move(parameters)),
      model_(at::from_blob(parameters_.embedding.data,
                           {static_cast<std::int64_t>(parameters_.bytes() / sizeof(float))},
                           at::kFloat)),
      masters_(weights.has_adapter() ? at::empty({weights.masters().numel()}, at::kFloat) : model_),
      first_(at::empty_like(masters_)),
      second_(at::empty({optimizer.second_count()}, at::kFloat)) {}

Result<Snapshot> Snapshot::make(const Weights& weights, const Optimizer& optimizer) {
  KW_TRY(lm::Parameters parameters,
         lm::Parameters::make(weights.config(), lm::WeightType::kFloat32));
  return Snapshot(std::move(parameters), weights, optimizer);
}

void Snapshot::take(const TrainingState& state, const Weights& weights, const Optimizer& optimizer,
                    const at::Tensor& average) {
  state_ = state;
  narrow_ = weights.compute_dtype() != at::kFloat;
  optimizer.copy_model(model_);
  adapter_ = weights.adapter();
  if (adapter_) masters_.copy_(weights.masters());
  optimizer.copy_moments(first_, second_);
  if (!average.defined()) return;
  if (!average_.defined()) average_ = at::empty({average.numel()}, at::kFloat);
  average_.copy_(average);
}

Status Snapshot::write_all(const fs::path& partial, const fs::path& base_model,
                           const std::function<void()>& between) const {
  KW_TRY_STATUS(
      lm::save_checkpoint(partial, parameters_,
                          {.type = narrow_ ? lm::WeightType::kBFloat16 : lm::WeightType::kFloat32,
                           .between = between}));
  KW_TRY_STATUS(lm::copy_tokenizer_files(base_model, partial));
  if (adapter_) KW_TRY_STATUS(lm::save_lora(partial / kAdapterFolder, *adapter_));
  std::vector<Block> blocks = {{"master", masters_}, {"exp_avg", first_}, {"exp_avg_sq", second_}};
  if (average_.defined()) blocks.push_back({kAverage, average_});
  KW_TRY_STATUS(write_blocks(partial / kStateFile, blocks, between));
  Json trainer = {{"schema", kTrainingStateSchema},   {"step", state_.step},
                  {"seconds", state_.seconds},        {"tokens", state_.tokens},
                  {"data", to_json(state_.position)}, {"settings", state_.settings}};
  if (state_.updates) trainer["updates"] = *state_.updates;
  KW_TRY_STATUS(os::write_file_atomic(partial / "trainer.json", trainer.dump(1) + "\n"));
  if (!state_.ahead.empty())
    KW_TRY_STATUS(os::write_file_atomic(partial / kAheadFile, state_.ahead));
  return os::write_file_atomic(partial / kCheckpointDone, "");
}

Result<fs::path> Snapshot::write(const fs::path& run, const fs::path& base_model, std::int64_t keep,
                                 const std::function<void()>& between) const {
  KW_TRY(const fs::path partial, begin_checkpoint(run, state_.step));
  KW_TRY_STATUS(write_all(partial, base_model, between));
  return finish_checkpoint(run, state_.step, keep);
}

Result<TrainingState> read_training_state(const fs::path& checkpoint, std::size_t sources) {
  const fs::path path = checkpoint / "trainer.json";
  KW_TRY(const std::string text, os::read_file(path));
  auto parsed = parse_json(text);
  if (!parsed) return tl::unexpected(std::move(parsed).error().with_context(path.string()));
  KW_TRY(ObjectReader reader, ObjectReader::make(*parsed, path.string()));
  KW_TRY(const std::int64_t schema, reader.integer("schema"));
  if (schema != kTrainingStateSchema)
    return fail(ErrorCode::kInvalidArgument, "{}: schema {}; this program reads {}", path.string(),
                schema, kTrainingStateSchema);
  TrainingState out;
  KW_TRY(out.step, reader.integer("step"));
  KW_TRY(out.seconds, reader.number("seconds"));
  KW_TRY(out.tokens, reader.integer("tokens"));
  KW_TRY(const Json* settings, reader.get("settings"));
  out.settings = *settings;
  if (reader.has("updates")) {
    KW_TRY(out.updates, reader.integer("updates"));
  }
  KW_TRY(const Json* data, reader.get("data"));
  auto position = stream_position_from_json(*data, sources);
  if (!position) return tl::unexpected(std::move(position).error().with_context(path.string()));
  out.position = std::move(*position);
  std::error_code error;
  if (fs::exists(checkpoint / kAheadFile, error)) {
    KW_TRY(out.ahead, os::read_file(checkpoint / kAheadFile, std::size_t{1} << 32U));
  }
  return out;
}

Status load_training_state(const fs::path& checkpoint, const TrainingState& state, Weights& weights,
                           Optimizer& optimizer, const at::Tensor& average) {
  const fs::path path = checkpoint / kStateFile;
  KW_TRY(const auto entries, tensor::safetensors_entries(path));
  KW_TRY(const os::Mapping file, os::Mapping::file(path));
  const at::Tensor first = at::empty({weights.count()}, at::kFloat);
  const at::Tensor second = at::empty({optimizer.second_count()}, at::kFloat);
  std::vector<Block> blocks = {
      {"master", weights.start()}, {"exp_avg", first}, {"exp_avg_sq", second}};
  if (average.defined()) blocks.push_back({kAverage, average});
  for (const Block& one : blocks) KW_TRY_STATUS(read_block(path, file, entries, one));
  optimizer.set_moments(first, second);
  optimizer.set_steps(state.updates.value_or(state.step));
  weights.begin();
  return {};
}

}  // namespace kw::train
