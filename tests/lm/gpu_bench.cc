// kw_lm_gpu_bench SETTINGS.json: the engine on a GPU with random weights, one JSON line a
// measurement. bench/lm_gpu_decode.py writes the settings and puts transformers beside it.
//   {"config": {...}, "dtype": "bfloat16", "steps": 50, "profile": true, "matmuls":
//   "batch_invariant",
//    "graphs": true, "overlap": true, "split_tiles": 0,
//    "decode": [[batch, context], ...], "prefill": [[sequences, tokens, step_tokens], ...]}
// kw_lm_gpu_bench --write-model FOLDER SETTINGS.json: a checkpoint of random weights, and
// kw_lm_gpu_bench --first-token FOLDER: the time from the program's start to its first token.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "base/json.h"
#include "base/random.h"
#include "lm/cuda/cuda_engine_impl.h"
#include "lm/model/checkpoint.h"
#include "os/file.h"

namespace kw::lm::cuda {
namespace {

using Clock = std::chrono::steady_clock;
using kw::cuda::DeviceBuffer;
using kw::cuda::Event;

const Clock::time_point kProgramStart = Clock::now();

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void print(const Json& line) {
  fmt::print("{}\n", line.dump());
  std::fflush(stdout);
}

struct Settings {
  ModelConfig config;
  WeightType type = WeightType::kBFloat16;
  CudaOptions options;
  std::int64_t steps = 50;
  bool profile = false;
  Json decode, prefill;
};

Result<Settings> settings_of(const Json& value) {
  Settings out;
  if (!value.is_object() || !value.contains("config"))
    return fail(ErrorCode::kInvalidArgument, "settings: expected an object with a config");
  KW_TRY(out.config, model_config_from_json(value.at("config"), "config"));
  if (value.value("dtype", "bfloat16") == "float32") out.type = WeightType::kFloat32;
  const std::string matmuls = value.value("matmuls", "batch_invariant");
  const auto choice = matmul_choice_from_string(matmuls);
  if (!choice) return fail(ErrorCode::kInvalidArgument, "matmuls: no choice \"{}\"", matmuls);
  out.options.matmuls = *choice;
  out.options.graphs = value.value("graphs", true);
  out.options.overlap = value.value("overlap", true);
  out.options.split_tiles = value.value("split_tiles", 0);
  out.steps = value.value("steps", 50);
  out.profile = value.value("profile", false);
  out.decode = value.value("decode", Json::array());
  out.prefill = value.value("prefill", Json::array());
  return out;
}

// Bytes read and written a second by a copy of 4 GiB on the GPU: the best of ten.
Result<double> copy_bandwidth(const CudaEngine& engine) {
  constexpr std::size_t kBytes = 4ULL << 30U;
  KW_TRY(DeviceBuffer from, DeviceBuffer::make(kBytes));
  KW_TRY(DeviceBuffer to, DeviceBuffer::make(kBytes));
  const auto& stream = engine.stream();
  KW_TRY_STATUS(stream.fill(from.address(), 0x5A, kBytes));
  KW_TRY(Event before, Event::make());
  KW_TRY(Event after, Event::make());
  double best = 1e30;
  for (int i = 0; i < 10; ++i) {
    KW_TRY_STATUS(stream.record(before));
    KW_TRY_STATUS(stream.copy(to.address(), from.address(), kBytes));
    KW_TRY_STATUS(stream.record(after));
    KW_TRY_STATUS(after.synchronize());
    KW_TRY(double ms, kw::cuda::elapsed_ms(before, after));
    best = std::min(best, ms);
  }
  return 2.0 * static_cast<double>(kBytes) / (best * 1e-3);
}

// What a decoding step must read: all weights (of an untied embedding only a few rows) and the keys
// and values of all sequences.
double decode_bytes(const CudaEngine& engine, const ModelConfig& c, std::int64_t batch,
                    std::int64_t context) {
  double bytes = static_cast<double>(engine.memory().weight_bytes);
  if (!c.tied_embeddings) bytes -= static_cast<double>(c.vocabulary * c.hidden) * 2;
  const double position = static_cast<double>(2 * c.layers * c.kv_width()) *
                          static_cast<double>(engine.memory().kv_element);
  return bytes + position * static_cast<double>(batch * context);
}

Step decode_step(std::int64_t batch, std::int64_t position, const std::vector<Sample>& samples) {
  Step out;
  for (std::int64_t i = 0; i < batch; ++i) {
    out.add(samples[static_cast<std::size_t>(i)].token, static_cast<std::int32_t>(position),
            static_cast<std::int32_t>(i), Phase::kDecode);
    SampleRequest request;
    request.row = static_cast<std::int32_t>(i);
    request.sequence = static_cast<std::uint64_t>(i);
    request.position = static_cast<std::uint32_t>(position + 1);
    out.samples.push_back(std::move(request));
  }
  return out;
}

Status measure_decode(const Settings& s, std::int64_t batch, std::int64_t context) {
  CudaOptions options = s.options;
  options.limits = {batch, context + s.steps + 8, std::max<std::int64_t>(batch, 64)};
  const auto start = Clock::now();
  KW_TRY(std::unique_ptr<CudaEngine> engine, make_random_engine(s.config, s.type, 1, options));
  const double made = seconds_since(start);
  KW_TRY_STATUS(engine->randomise_cache());
  KW_TRY(double bandwidth, copy_bandwidth(*engine));
  std::vector<Sample> samples(static_cast<std::size_t>(batch));
  std::int64_t position = context;
  auto once = [&] {
    const Step step = decode_step(batch, position++, samples);
    engine->run(step, samples);
  };
  const auto first = Clock::now();
  once();
  const double first_step = seconds_since(first);
  for (int i = 0; i < 4; ++i) once();
  std::vector<double> times;
  const auto begin = Clock::now();
  for (std::int64_t i = 0; i < s.steps; ++i) {
    const auto before = Clock::now();
    once();
    times.push_back(seconds_since(before));
  }
  const double wall = seconds_since(begin);
  const double rate = static_cast<double>(batch * s.steps) / wall;
  const double roof = static_cast<double>(batch) * bandwidth /
                      decode_bytes(*engine, s.config, batch, context + s.steps / 2);
  Json line = {{"measure", "decode"},
               {"batch", batch},
               {"context", context},
               {"tokens_per_second", rate},
               {"step_ms", median(times) * 1e3},
               {"copy_bytes_per_second", bandwidth},
               {"roofline_tokens_per_second", roof},
               {"of_roofline", rate / roof},
               {"engine_seconds", made},
               {"first_step_seconds", first_step},
               {"matmuls", engine->matmul_choices()}};
  if (s.profile) {
    KW_TRY(auto stages, engine->profile(decode_step(batch, position, samples)));
    Json table = Json::object();
    for (const auto& [name, ms] : stages) table[name] = ms;
    line["stage_ms"] = std::move(table);
  }
  print(line);
  return {};
}

// Operations of matmuls and attention, two a multiplication and addition.
double prefill_operations(const ModelConfig& c, std::int64_t sequences, std::int64_t tokens) {
  const double matrices =
      static_cast<double>(c.layers * (c.hidden * (2 * c.query_width() + 2 * c.kv_width()) +
                                      3 * c.hidden * c.intermediate));
  const double all = static_cast<double>(sequences * tokens);
  const double attention = 4.0 * static_cast<double>(c.layers * c.query_width()) *
                           static_cast<double>(sequences) *
                           static_cast<double>(tokens * (tokens + 1) / 2);
  return 2 * matrices * all + attention +
         2.0 * static_cast<double>(c.vocabulary * c.hidden * sequences);
}

Status measure_prefill(const Settings& s, std::int64_t sequences, std::int64_t tokens,
                       std::int64_t step_tokens) {
  constexpr double kPeak = 989e12;  // dense bfloat16 of an H200
  CudaOptions options = s.options;
  options.limits = {sequences, tokens + 1, step_tokens};
  KW_TRY(std::unique_ptr<CudaEngine> engine, make_random_engine(s.config, s.type, 1, options));
  const std::int64_t together = std::max<std::int64_t>(1, step_tokens / tokens);
  std::vector<Step> steps;
  for (std::int64_t slot = 0; slot < sequences; ++slot) {
    if (slot % together == 0) steps.emplace_back();
    for (std::int64_t i = 0; i < tokens; ++i)
      steps.back().add(static_cast<std::int32_t>((slot * 7919 + i * 104729) % s.config.vocabulary),
                       static_cast<std::int32_t>(i), static_cast<std::int32_t>(slot));
    SampleRequest request;
    request.row = static_cast<std::int32_t>(steps.back().tokens.size()) - 1;
    steps.back().samples.push_back(std::move(request));
  }
  std::vector<double> times;
  for (int round = 0; round < 4; ++round) {
    const auto start = Clock::now();
    for (const Step& step : steps) {
      std::vector<Sample> samples(step.samples.size());
      engine->run(step, samples);
    }
    if (round > 0) times.push_back(seconds_since(start));
  }
  const double wall = median(times);
  Json line = {{"measure", "prefill"},
               {"sequences", sequences},
               {"tokens", tokens},
               {"step_tokens", step_tokens},
               {"seconds", wall},
               {"tokens_per_second", static_cast<double>(sequences * tokens) / wall},
               {"mfu", prefill_operations(s.config, sequences, tokens) / wall / kPeak},
               {"matmuls", engine->matmul_choices()}};
  if (s.profile) {
    KW_TRY(auto stages, engine->profile(steps[0]));
    Json table = Json::object();
    for (const auto& [name, ms] : stages) table[name] = ms;
    line["stage_ms_of_a_step"] = std::move(table);
  }
  print(line);
  return {};
}

Result<Settings> read_settings(const std::string& path) {
  KW_TRY(std::string text, os::read_file(path));
  KW_TRY(Json value, parse_json(text));
  return settings_of(value);
}

// One table of random numbers over and over: what the weights are does not matter, and gigabytes of
// normal numbers take minutes.
Status write_model(const std::string& folder, const std::string& path) {
  KW_TRY(Settings settings, read_settings(path));
  KW_TRY(Parameters parameters, Parameters::make(settings.config, WeightType::kBFloat16));
  Rng rng(1);
  std::vector<std::uint16_t> table(1'000'003);
  for (std::uint16_t& one : table) {
    const auto value = static_cast<float>(settings.config.initializer_range * rng.normal());
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    one = static_cast<std::uint16_t>(bits >> 16U);
  }
  for (const NamedParameter& one : parameters.named()) {
    std::fill(one.vector.begin(), one.vector.end(),
              one.name.find("norm") != std::string::npos ? 1.0F : 0.0F);
    if (!one.is_matrix()) continue;
    const std::size_t bytes = static_cast<std::size_t>(one.matrix.rows * one.matrix.columns) * 2;
    for (std::size_t at = 0; at < bytes; at += table.size() * 2)
      std::memcpy(one.matrix.data + at, table.data(), std::min(bytes - at, table.size() * 2));
  }
  return save_checkpoint(folder, parameters, {});
}

Status measure_first_token(const std::string& folder) {
  KW_TRY(ModelConfig config, read_model_config(folder));
  KW_TRY(Parameters parameters, load_checkpoint(folder, config, WeightType::kBFloat16));
  const double read = seconds_since(kProgramStart);
  KW_TRY(std::unique_ptr<Engine> engine, make_cuda_engine(parameters, {}));
  const double made = seconds_since(kProgramStart);
  Step step;  // a prompt of 128 tokens
  for (std::int32_t i = 0; i < 128; ++i) step.add(i, i, 0);
  step.samples.emplace_back().row = 127;
  std::vector<Sample> samples(1);
  engine->run(step, samples);
  const double first = seconds_since(kProgramStart);
  step.clear();
  step.add(samples[0].token, 128, 0, Phase::kDecode);
  step.samples.emplace_back().row = 0;
  engine->run(step, samples);
  print({{"measure", "first_token"},
         {"checkpoint_read_at", read},
         {"engine_made_at", made},
         {"first_token_at", first},
         {"second_token_at", seconds_since(kProgramStart)}});
  return {};
}

Status run(const std::string& path) {
  KW_TRY(Settings settings, read_settings(path));
  for (const Json& one : settings.decode)
    KW_TRY_STATUS(measure_decode(settings, one.at(0), one.at(1)));
  for (const Json& one : settings.prefill)
    KW_TRY_STATUS(measure_prefill(settings, one.at(0), one.at(1), one.at(2)));
  return {};
}

}  // namespace
}  // namespace kw::lm::cuda

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::string mode = arguments.empty() ? "" : arguments[0];
  const std::size_t wanted = mode == "--write-model" ? 3 : mode == "--first-token" ? 2 : 1;
  if (arguments.size() != wanted) {
    fmt::print(stderr,
               "usage: kw_lm_gpu_bench SETTINGS.json | --write-model FOLDER SETTINGS.json | "
               "--first-token FOLDER (see the beginning of tests/lm/gpu_bench.cc)\n");
    return 2;
  }
  try {
    kw::Status done = wanted == 3   ? kw::lm::cuda::write_model(arguments[1], arguments[2])
                      : wanted == 2 ? kw::lm::cuda::measure_first_token(arguments[1])
                                    : kw::lm::cuda::run(arguments[0]);
    if (done) return 0;
    fmt::print(stderr, "{}\n", done.error().message());
    return kw::exit_code(done.error().code());
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}
