// An engine is made and runs steps here. The step's kernels are in forward.cc.
//
// Theory of operation. One stream. A step's numbers (tokens, positions, slots, settings) are
// written to page-locked memory and sent in one copy; samples come back to page-locked memory,
// written by the kernel that draws them. A step that holds one token of each of its slots
// (decoding) is filled up to a power of two of rows and launched as a graph, one for each number of
// rows and each power of two of attention's parts; other steps are launched kernel by kernel.
// Batch-invariant, a step of both phases is two: their matmuls add in different orders, each the
// same for every number of rows (matmul_choice.cc).
// Kernels of a step overlap with the one before them (prelude.cu says what each may do before it
// waits); the first kernel after a copy does not.
#include "lm/cuda/cuda_engine.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "base/check.h"
#include "lm/cuda/cuda_engine_impl.h"
#include "lm/model/rope.h"
#include "os/file.h"

namespace kw::lm::cuda {
namespace {

using kw::cuda::Context;
using kw::cuda::DeviceBuffer;
using kw::cuda::GraphExec;
using kw::cuda::LaunchShape;
using kw::cuda::PinnedBuffer;
using kw::cuda::Stream;

// Engine::run has no way to return an error, and there is no going on after one.
void require(Status status) {
  if (!status) throw std::runtime_error("a step on the GPU: " + status.error().message());
}

std::int64_t power_of_two(std::int64_t value) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(value)));
}

// Decoding fills up to powers of two too, so a step of few rows has the matmuls of a graph.
std::int64_t few_sizes(std::int64_t rows) {
  return rows <= 64 ? power_of_two(rows) : (rows + 63) / 64 * 64;
}

// Four sizes from each power of two to the next: ways to multiply are sought once for each.
std::int64_t prompt_sizes(std::int64_t rows, std::int64_t most) {
  const std::int64_t unit = std::max<std::int64_t>(64, power_of_two(rows) / 8);
  return std::min((rows + unit - 1) / unit * unit, most);
}

}  // namespace

std::optional<MatmulChoice> matmul_choice_from_string(std::string_view name) {
  if (name == "batch_invariant") return MatmulChoice::kBatchInvariant;
  if (name == "fastest") return MatmulChoice::kFastest;
  return std::nullopt;
}

CudaEngine::CudaEngine(const ModelConfig& config, WeightType type, const CudaOptions& options,
                       Context context)
    : context_(std::move(context)),
      config_(config),
      type_(type),
      options_(options),
      versions_(std::max<std::int64_t>(options.limits.slots, 0)) {}

CudaEngine::~CudaEngine() {
  (void)context_.make_current();
  if (stream_.get() != nullptr) (void)stream_.synchronize();
}

Result<std::unique_ptr<CudaEngine>> CudaEngine::make(const ModelConfig& config, WeightType type,
                                                     const CudaOptions& options,
                                                     const WeightSource& weights) {
  KW_TRY(Context context, Context::open(options.device));
  std::unique_ptr<CudaEngine> engine(new CudaEngine(config, type, options, std::move(context)));
  KW_TRY_STATUS(engine->check_limits());
  KW_TRY_STATUS(engine->set_up(weights));
  return engine;
}

Status CudaEngine::check_limits() const {
  const EngineLimits& limits = options_.limits;
  if (limits.slots < 1 || limits.slots > 65535 || limits.step_tokens < 1)
    return fail(ErrorCode::kInvalidArgument,
                "slots: expected 1 to 65535; step tokens: expected 1 or more");
  if (limits.context < 1 || limits.context > config_.max_position)
    return fail(ErrorCode::kInvalidArgument,
                "context: expected 1 to {}, the model's max_position_embeddings, not {}",
                config_.max_position, limits.context);
  if (options_.split_tiles < 0 || options_.split_tiles > 64)
    return fail(ErrorCode::kInvalidArgument, "split tiles: expected 0 to 64");
  return {};
}

Status CudaEngine::set_up(const WeightSource& weights) {
  Matmuls::Setting setting;
  setting.float32 = type_ == WeightType::kFloat32;
  setting.overlap = options_.overlap;
  setting.choice = options_.matmuls;
  setting.multiprocessors = context_.multiprocessors();
  setting.epsilon = static_cast<float>(config_.norm_epsilon);
  memory_ = plan_memory(config_, type_, options_.limits, setting, options_.split_tiles);
  memory_.weight_bytes = weights.bytes;
  KW_TRY(Context::Memory free, context_.memory());
  KW_TRY_STATUS(check_fits(memory_, free, options_.limits));
  KW_TRY(stream_, Stream::make());
  KW_TRY(written_, kw::cuda::Event::make());
  const auto cache = options_.cache.empty() ? os::cache_home() / "cubin" : options_.cache;
  KW_TRY(kernels_,
         Kernels::make(context_, config_, type_, static_cast<int>(memory_.split_tiles), cache));
  KW_TRY(lt_, Lt::make());
  KW_TRY(weights_, weights.make(kernels_, stream_));
  KW_TRY_STATUS(make_buffers());
  KW_TRY_STATUS(fill_activations());
  matmuls_ = std::make_unique<Matmuls>(lt_, kernels_, stream_, setting);
  set_places();
  return stream_.synchronize();
}

Status CudaEngine::make_buffers() {
  const ModelConfig& c = config_;
  const auto rows = static_cast<std::size_t>(memory_.rows);
  const auto samples = static_cast<std::size_t>(memory_.sample_rows);
  const std::size_t element = memory_.kv_element;
  auto sized = [&](std::int64_t width) { return rows * static_cast<std::size_t>(width); };
  Buffers& b = buffers_;
  KW_TRY(b.kv, DeviceBuffer::make(memory_.kv_bytes));
  KW_TRY(b.residual, DeviceBuffer::make(sized(c.hidden) * 4));
  KW_TRY(b.parts, DeviceBuffer::make(memory_.part_floats * 4));
  KW_TRY(b.normed, DeviceBuffer::make(sized(c.hidden) * element));
  KW_TRY(b.squares, DeviceBuffer::make(sized(memory_.squares) * 4));
  KW_TRY(b.attended, DeviceBuffer::make(sized(c.query_width()) * element));
  KW_TRY(b.activated, DeviceBuffer::make(sized(c.intermediate) * element));
  KW_TRY(b.last, DeviceBuffer::make(sized(c.hidden) * element));
  KW_TRY(b.logits, DeviceBuffer::make(memory_.logit_bytes));
  KW_TRY(b.partial, DeviceBuffer::make(memory_.partial_floats * 4));
  KW_TRY(b.partial_statistics, DeviceBuffer::make(memory_.partial_statistics * 8));
  KW_TRY(b.partial_counters, DeviceBuffer::make(memory_.partial_counters * 4));
  KW_TRY_STATUS(stream_.fill(b.partial_counters.address(), 0, b.partial_counters.bytes()));
  const std::size_t mask_bytes = samples * static_cast<std::size_t>(memory_.mask_words) * 8;
  KW_TRY(b.masks, DeviceBuffer::make(mask_bytes));
  KW_TRY(b.host_masks, PinnedBuffer::make(mask_bytes));
  const auto pieces = static_cast<std::size_t>((c.vocabulary + kSamplePiece - 1) / kSamplePiece);
  KW_TRY(b.own_statistics, DeviceBuffer::make(samples * pieces * kPieceStatisticsBytes));
  KW_TRY(b.drawn_statistics, DeviceBuffer::make(samples * pieces * kPieceStatisticsBytes));
  KW_TRY(b.samples, PinnedBuffer::make(samples * sizeof(SampleOutput)));
  KW_TRY(b.tops, PinnedBuffer::make(samples * kMaxTopLogprobs * sizeof(TokenLogprob)));
  KW_TRY(decode_data_, StepData::make(memory_.most_decode_rows, memory_.most_decode_rows));
  KW_TRY(step_data_, StepData::make(memory_.rows, memory_.rows));
  const RopeTable table(c, options_.limits.context);
  const std::size_t table_bytes = table.cosine.size() * sizeof(float);
  KW_TRY(b.cosine, DeviceBuffer::make(table_bytes));
  KW_TRY(b.sine, DeviceBuffer::make(table_bytes));
  KW_TRY_STATUS(stream_.copy(b.cosine.address(), table.cosine.data(), table_bytes));
  KW_TRY_STATUS(stream_.copy(b.sine.address(), table.sine.data(), table_bytes));
  return stream_.synchronize();
}

Status CudaEngine::randomise(const DeviceBuffer& buffer, std::uint32_t number) {
  LaunchShape shape;
  shape.threads = 256;
  shape.grid[0] = 4096;
  const auto size = static_cast<std::int64_t>(buffer.bytes() / memory_.kv_element);
  return kernels_.initial.launch(stream_, shape, buffer.address(), size, std::uint64_t{1}, number,
                                 1.0F);
}

// Matmuls are timed with what real activations look like: zeros would be faster.
Status CudaEngine::fill_activations() {
  std::uint32_t number = 1'000'000;
  for (const DeviceBuffer* one :
       {&buffers_.normed, &buffers_.attended, &buffers_.activated, &buffers_.last})
    KW_TRY_STATUS(randomise(*one, number++));
  KW_TRY_STATUS(stream_.fill(buffers_.squares.address(), 0, buffers_.squares.bytes()));
  return stream_.fill(buffers_.residual.address(), 0, buffers_.residual.bytes());
}

Status CudaEngine::randomise_cache() {
  KW_TRY_STATUS(context_.make_current());
  KW_TRY_STATUS(randomise(buffers_.kv, 2'000'000));
  return stream_.synchronize();
}

void CudaEngine::set_places() {
  const ModelConfig& c = config_;
  Places places;
  auto at = [&](MatmulKind kind) -> MatmulPlace& { return places[static_cast<std::size_t>(kind)]; };
  auto shape = [&](MatmulKind kind, std::int64_t n, std::int64_t k, const DeviceBuffer& x) {
    at(kind).n = n;
    at(kind).k = k;
    at(kind).x = x.address();
  };
  shape(MatmulKind::kQkv, c.query_width() + 2 * c.kv_width(), c.hidden, buffers_.normed);
  shape(MatmulKind::kOutput, c.hidden, c.query_width(), buffers_.attended);
  shape(MatmulKind::kGateUp, 2 * c.intermediate, c.hidden, buffers_.normed);
  shape(MatmulKind::kDown, c.hidden, c.intermediate, buffers_.activated);
  shape(MatmulKind::kHead, c.vocabulary, c.hidden, buffers_.last);
  const auto& layers = weights_.layers;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const DeviceLayer& layer = layers[i];
    at(MatmulKind::kQkv).weights.push_back(layer.qkv);
    at(MatmulKind::kOutput).weights.push_back(layer.output);
    at(MatmulKind::kOutput).biases.push_back(layer.output_bias);
    at(MatmulKind::kOutput).norms.push_back(layer.post_norm);
    at(MatmulKind::kGateUp).weights.push_back(layer.gate_up);
    at(MatmulKind::kGateUp).biases.push_back(layer.gate_up_bias);
    at(MatmulKind::kDown).weights.push_back(layer.down);
    at(MatmulKind::kDown).biases.push_back(layer.down_bias);
    at(MatmulKind::kDown)
        .norms.push_back(i + 1 < layers.size() ? layers[i + 1].input_norm : weights_.final_norm);
  }
  at(MatmulKind::kHead).weights.push_back(weights_.head);
  MatmulTargets targets;
  targets.parts = buffers_.parts.address();
  targets.part_floats = memory_.part_floats;
  targets.residual = buffers_.residual.address();
  targets.normed = buffers_.normed.address();
  targets.squares = buffers_.squares.address();
  targets.activated = buffers_.activated.address();
  targets.logits = buffers_.logits.address();
  targets.logit_pitch = memory_.logit_pitch;
  matmuls_->set_places(std::move(places), targets);
}

void CudaEngine::check_step(const Step& step) const {
  const EngineLimits& limits = options_.limits;
  const std::size_t tokens = step.tokens.size();
  KW_CHECK(tokens > 0 && tokens <= static_cast<std::size_t>(limits.step_tokens));
  KW_CHECK(step.positions.size() == tokens && step.slots.size() == tokens &&
           step.phases.size() == tokens);
  KW_CHECK(step.samples.size() <= static_cast<std::size_t>(limits.step_tokens));
  for (std::size_t t = 0; t < tokens; ++t) {
    KW_CHECK(step.tokens[t] >= 0 && step.tokens[t] < config_.vocabulary);
    KW_CHECK(step.positions[t] >= 0 && step.positions[t] < limits.context);
    KW_CHECK(step.slots[t] >= 0 && step.slots[t] < limits.slots);
  }
  for (const SampleRequest& one : step.samples)
    KW_CHECK(one.row >= 0 && static_cast<std::size_t>(one.row) < tokens &&
             one.forced < config_.vocabulary);
}

bool CudaEngine::runs_whole(const Step& step) const {
  return options_.matmuls == MatmulChoice::kFastest || is_one_part(step, memory_.most_decode_rows);
}

void CudaEngine::run(const Step& step, std::span<Sample> samples) {
  check_step(step);
  versions_.write(step);
  KW_CHECK(samples.size() == step.samples.size());
  require(context_.make_current());
  if (runs_whole(step)) return run_part(step, samples);
  for (const StepPart& part : split_by_phase(step, memory_.most_decode_rows)) {
    std::vector<Sample> drawn(part.samples.size());
    run_part(part.step, drawn);
    for (std::size_t i = 0; i < drawn.size(); ++i) samples[part.samples[i]] = std::move(drawn[i]);
  }
}

void CudaEngine::run_part(const Step& step, std::span<Sample> samples) {
  const StepPlan plan = plan_step(step, options_.limits.slots);
  const auto rows = static_cast<std::int64_t>(step.tokens.size());
  if (options_.graphs && plan.only_decodes() && !samples.empty() &&
      rows <= memory_.most_decode_rows && step.samples.size() <= step.tokens.size()) {
    auto masks = send_masks(step.samples);
    if (!masks) require(tl::unexpected(masks.error()));
    require(decode_through_graph(step, plan, *masks));
    give_samples(step, 0, samples);
    return;
  }
  require(run_directly(step, [&](const Drawing& d) -> Status {
    KW_TRY_STATUS(draw(d));
    KW_TRY_STATUS(stream_.synchronize());
    give_samples(step, static_cast<std::size_t>(d.first), samples);
    return {};
  }));
}

void CudaEngine::run_for_logits(const Step& step, std::span<float> logits) {
  check_step(step);
  versions_.write(step);
  const auto width = static_cast<std::size_t>(config_.vocabulary);
  KW_CHECK(logits.size() == step.samples.size() * width);
  require(context_.make_current());
  if (runs_whole(step)) return part_for_logits(step, logits);
  for (const StepPart& part : split_by_phase(step, memory_.most_decode_rows)) {
    std::vector<float> some(part.samples.size() * width);
    part_for_logits(part.step, some);
    for (std::size_t i = 0; i < part.samples.size(); ++i)
      std::copy_n(some.data() + i * width, width, logits.data() + part.samples[i] * width);
  }
}

void CudaEngine::part_for_logits(const Step& step, std::span<float> logits) {
  const auto width = static_cast<std::size_t>(config_.vocabulary);
  require(run_directly(step, [&](const Drawing& d) -> Status {
    for (std::int64_t i = 0; i < d.count; ++i)
      KW_TRY_STATUS(stream_.copy(
          logits.data() + static_cast<std::size_t>(d.first + i) * width,
          buffers_.logits.address() + static_cast<DevicePointer>(i * memory_.logit_pitch * 4),
          width * sizeof(float)));
    return stream_.synchronize();
  }));
}

// Samples of a group stand at the beginning of their buffer.
void CudaEngine::give_samples(const Step& step, std::size_t first,
                              std::span<Sample> samples) const {
  static_assert(sizeof(TokenLogprob) == 8);
  const auto* from = buffers_.samples.as<SampleOutput>();
  const auto* tops = buffers_.tops.as<TokenLogprob>();
  const std::size_t count =
      std::min(samples.size() - first, static_cast<std::size_t>(memory_.sample_rows));
  for (std::size_t i = 0; i < count; ++i) {
    Sample& to = samples[first + i];
    to.token = from[i].token;
    to.logprob = from[i].logprob;
    to.policy_logprob = from[i].policy_logprob;
    to.entropy = from[i].entropy;
    to.cutoff = from[i].cutoff;
    to.weights = versions_.weights();
    const std::int64_t top = std::min<std::int64_t>(
        {step.samples[first + i].top_logprobs, kMaxTopLogprobs, config_.vocabulary});
    const auto* row = tops + i * kMaxTopLogprobs;
    to.top.assign(row, row + std::max<std::int64_t>(top, 0));
  }
}

// A mask that several requests share is sent once.
Result<std::vector<std::int32_t>> CudaEngine::send_masks(std::span<const SampleRequest> requests) {
  std::vector<std::int32_t> out(requests.size(), -1);
  std::map<const LogitMask*, std::int32_t> known;
  const auto words = static_cast<std::size_t>(memory_.mask_words);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const LogitMask* mask = requests[i].mask.get();
    if (mask == nullptr || mask->empty() || requests[i].forced >= 0) continue;
    auto [found, is_new] = known.emplace(mask, static_cast<std::int32_t>(known.size()));
    out[i] = found->second;
    if (!is_new) continue;
    auto* to = buffers_.host_masks.as<std::uint64_t>() + known.size() * words - words;
    const std::size_t given = std::min(words, mask->size());
    std::copy_n(mask->begin(), given, to);
    std::fill(to + given, to + words, 0);
  }
  if (!known.empty())
    KW_TRY_STATUS(stream_.copy(buffers_.masks.address(), buffers_.host_masks.data(),
                               known.size() * words * 8));
  return out;
}

Status CudaEngine::decode_through_graph(const Step& step, const StepPlan& plan,
                                        std::span<const std::int32_t> masks) {
  const std::int64_t split = kDecodeTile * memory_.split_tiles;
  const std::int64_t rows = power_of_two(static_cast<std::int64_t>(step.tokens.size()));
  const std::int64_t splits =
      std::min(power_of_two(plan.last_position / split + 1), memory_.most_splits);
  KW_TRY(const GraphExec* graph, graph_for(rows, splits));
  decode_data_.write(step, plan, masks, config_.vocabulary);
  KW_TRY_STATUS(stream_.launch(*graph));
  return stream_.synchronize();
}

Result<const GraphExec*> CudaEngine::graph_for(std::int64_t rows, std::int64_t splits) {
  const auto key = std::pair(rows, splits);
  if (auto found = graphs_.find(key); found != graphs_.end()) return &found->second;
  const MatmulRows matmuls{Phase::kDecode, rows};
  KW_TRY_STATUS(prepare_layer(matmuls));
  KW_TRY_STATUS(matmuls_->prepare_head(rows));
  const Forward f{&decode_data_, rows, matmuls, rows, splits, 0, 0};
  const Drawing d{&decode_data_, 0, rows, rows};
  KW_TRY(GraphExec graph, stream_.capture([&]() -> Status {
    KW_TRY_STATUS(decode_data_.send(stream_));
    KW_TRY_STATUS(forward(f));
    KW_TRY_STATUS(logits_of(d));
    return draw(d);
  }));
  return &graphs_.emplace(key, std::move(graph)).first->second;
}

// Layers are timed as of a decoding step, with attention over what the logits' memory has room for:
// nobody's keys and values are written over.
Status CudaEngine::prepare_layer(const MatmulRows& matmuls) {
  const std::int64_t rows = matmuls.count;
  if (matmuls_->is_prepared(matmuls)) return {};
  if (!matmuls_->can_join(matmuls) || rows > decode_data_.rows())
    return matmuls_->prepare_layer(matmuls, nullptr);
  constexpr std::int64_t kTimedPositions = 512;
  const std::int64_t position_bytes =
      rows * 2 * config_.kv_width() * static_cast<std::int64_t>(memory_.kv_element);
  const std::int64_t positions =
      std::min({kTimedPositions, options_.limits.context,
                static_cast<std::int64_t>(memory_.logit_bytes) / position_bytes});
  if (positions == 0) return matmuls_->prepare_layer(matmuls, nullptr);
  Step step;
  for (std::int32_t row = 0; row < rows; ++row)
    step.add(0, static_cast<std::int32_t>(positions) - 1, row, Phase::kDecode);
  const StepPlan plan = plan_step(step, rows);
  decode_data_.write(step, plan, {}, config_.vocabulary);
  KW_TRY_STATUS(decode_data_.send(stream_));
  KW_TRY_STATUS(randomise(buffers_.logits, 3'000'000));
  Forward f{&decode_data_, rows, matmuls, rows};
  f.splits = plan.last_position / (kDecodeTile * memory_.split_tiles) + 1;
  return matmuls_->prepare_layer(matmuls, [&](std::size_t layer, PartCount parts) {
    HeadInput heads = head_input(f, layer, parts);
    heads.kv = buffers_.logits.address();
    heads.context = positions;
    return attend_decoding(f, heads);
  });
}

Status CudaEngine::run_directly(const Step& step,
                                const std::function<Status(const Drawing&)>& after_each) {
  const StepPlan plan = plan_step(step, options_.limits.slots);
  const auto tokens = static_cast<std::int64_t>(step.tokens.size());
  const auto samples = static_cast<std::int64_t>(step.samples.size());
  MatmulRows matmuls{Phase::kDecode, few_sizes(tokens)};
  if (options_.matmuls == MatmulChoice::kBatchInvariant && !plan.only_decodes())
    matmuls = {Phase::kPrefill, prompt_sizes(tokens, memory_.rows)};
  Forward f{&step_data_, tokens, matmuls};
  f.decode_rows = static_cast<std::int64_t>(plan.decode_rows.size());
  f.splits = plan.last_position / (kDecodeTile * memory_.split_tiles) + 1;
  f.prefill_rows = static_cast<std::int64_t>(plan.prefill_rows.size());
  f.tiles = static_cast<std::int64_t>(plan.tiles.size());
  KW_TRY_STATUS(prepare_layer(matmuls));
  for (std::int64_t first = 0; first < samples; first += memory_.sample_rows)
    KW_TRY_STATUS(
        matmuls_->prepare_head(few_sizes(std::min(memory_.sample_rows, samples - first))));
  // Masks are sent group by group; their numbers count within a group.
  std::vector<std::int32_t> masks(step.samples.size(), -1);
  const std::span<const SampleRequest> requests(step.samples);
  const auto most = static_cast<std::size_t>(memory_.sample_rows);
  for (std::size_t first = 0; first < requests.size(); first += most) {
    std::map<const LogitMask*, std::int32_t> known;
    for (std::size_t i = first; i < std::min(first + most, requests.size()); ++i)
      if (const LogitMask* mask = requests[i].mask.get();
          mask != nullptr && !mask->empty() && requests[i].forced < 0)
        masks[i] = known.emplace(mask, static_cast<std::int32_t>(known.size())).first->second;
  }
  step_data_.write(step, plan, masks, config_.vocabulary);
  KW_TRY_STATUS(step_data_.send(stream_));
  KW_TRY_STATUS(forward(f));
  for (std::int64_t first = 0; first < samples; first += memory_.sample_rows) {
    const std::int64_t count = std::min(memory_.sample_rows, samples - first);
    KW_TRY(auto sent, send_masks(requests.subspan(static_cast<std::size_t>(first),
                                                  static_cast<std::size_t>(count))));
    const Drawing d{&step_data_, first, count, few_sizes(count)};
    KW_TRY_STATUS(logits_of(d));
    KW_TRY_STATUS(after_each(d));
  }
  return stream_.synchronize();
}

void CudaEngine::copy_slot(std::int32_t from, std::int32_t to, std::int32_t positions) {
  const EngineLimits& limits = options_.limits;
  KW_CHECK(from >= 0 && from < limits.slots && to >= 0 && to < limits.slots);
  KW_CHECK(positions >= 0 && positions <= limits.context);
  if (positions == 0 || from == to) return;
  require(context_.make_current());
  const std::int64_t unit = 16;  // bytes
  const std::int64_t units =
      positions * config_.head_dim * static_cast<std::int64_t>(memory_.kv_element) / unit;
  LaunchShape shape;
  shape.threads = 256;
  shape.grid[0] = static_cast<unsigned>(std::clamp<std::int64_t>(units / 1024, 1, 64));
  shape.grid[1] = static_cast<unsigned>(config_.layers * config_.kv_heads * 2);
  require(kernels_.copy_slot.launch(stream_, shape, buffers_.kv.address(), memory_.kv_slot / unit,
                                    memory_.kv_layer / unit, memory_.kv_plane / unit, units, from,
                                    to));
  versions_.copy(from, to);
}

// Steps end with a synchronisation, so that whoever writes weights need not wait for this stream.
void CudaEngine::weights_changed(std::int32_t version) {
  require(context_.make_current());
  const Stream default_stream;
  require(default_stream.record(written_));
  require(stream_.wait(written_));
  versions_.weights_changed(version);
}

Result<std::unique_ptr<Engine>> make_cuda_engine(const Parameters& parameters,
                                                 const CudaOptions& options) {
  const CudaEngine::WeightSource copied{
      DeviceParameters::bytes_of(parameters.config(), parameters.type()),
      [&](const Kernels&, const Stream& stream) {
        return DeviceParameters::upload(parameters, stream);
      }};
  KW_TRY(std::unique_ptr<CudaEngine> engine,
         CudaEngine::make(parameters.config(), parameters.type(), options, copied));
  return std::unique_ptr<Engine>(std::move(engine));
}

Result<std::unique_ptr<Engine>> make_cuda_engine(const SharedWeights& weights,
                                                 const CudaOptions& options) {
  const CudaEngine::WeightSource shared{
      0, [&](const Kernels&, const Stream&) { return DeviceParameters::view(weights); }};
  KW_TRY(std::unique_ptr<CudaEngine> engine,
         CudaEngine::make(weights.arrangement->config(), WeightType::kBFloat16, options, shared));
  return std::unique_ptr<Engine>(std::move(engine));
}

Result<std::unique_ptr<CudaEngine>> make_random_engine(const ModelConfig& config, WeightType type,
                                                       std::uint64_t seed,
                                                       const CudaOptions& options) {
  const CudaEngine::WeightSource random{
      DeviceParameters::bytes_of(config, type), [&](const Kernels& kernels, const Stream& stream) {
        return DeviceParameters::random(config, type, seed, {kernels.initial, kernels.fill},
                                        stream);
      }};
  return CudaEngine::make(config, type, options, random);
}

}  // namespace kw::lm::cuda
