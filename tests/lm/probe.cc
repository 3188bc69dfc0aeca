// kw_lm_probe: drives the engine from outside, for tests that compare it with other programs.
//   logits FOLDER TYPE prefill|decode THREADS ID...   float32 logits of every position to stdout
//   greedy FOLDER TYPE COUNT ID...                    the ids that follow
//   speed FOLDER TYPE BATCH CONTEXT STEPS THREADS     tokens a second of decoding, as JSON
//   prompt FOLDER TYPE TOKENS ROUNDS THREADS          tokens a second of a prompt, of each round
//   save FOLDER OUT TYPE                              reads a folder (as float32) and writes it
//   init CONFIG.json OUT SEED TYPE                    a new model
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/json.h"
#include "lm/cpu/cpu_engine.h"
#include "lm/model/checkpoint.h"
#include "os/file.h"

namespace kw::lm {
namespace {

using Words = std::vector<std::string>;

struct Loaded {
  std::unique_ptr<Parameters> parameters;
  std::unique_ptr<Engine> engine;
};

Result<Loaded> load(const std::string& folder, const std::string& type, cpu::CpuOptions options) {
  auto weights = weight_type_from_string(type);
  if (!weights) return fail(ErrorCode::kInvalidArgument, "no weight type {}", type);
  KW_TRY(ModelConfig config, read_model_config(folder));
  KW_TRY(Parameters parameters, load_checkpoint(folder, config, *weights));
  Loaded out;
  out.parameters = std::make_unique<Parameters>(std::move(parameters));
  KW_TRY(out.engine, cpu::make_cpu_engine(*out.parameters, options));
  return out;
}

std::vector<std::int32_t> ids_of(const Words& words, std::size_t first) {
  std::vector<std::int32_t> out;
  for (std::size_t i = first; i < words.size(); ++i) out.push_back(std::stoi(words[i]));
  return out;
}

SampleRequest greedy_at(std::int32_t row) {
  SampleRequest out;
  out.row = row;
  out.settings.temperature = 0;
  return out;
}

Status logits(const Words& words) {
  const std::vector<std::int32_t> ids = ids_of(words, 5);
  const auto count = static_cast<std::int64_t>(ids.size());
  KW_TRY(Loaded model, load(words[1], words[2], {std::stoi(words[4]), {2, count, count}}));
  std::vector<float> out;
  const bool at_once = words[3] == "prefill";
  Step step;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    step.add(ids[i], static_cast<std::int32_t>(i), 1);
    step.samples.push_back(greedy_at(static_cast<std::int32_t>(step.tokens.size()) - 1));
    if (at_once && i + 1 < ids.size()) continue;
    out.resize(step.samples.size() * static_cast<std::size_t>(model.engine->vocabulary()));
    model.engine->run_for_logits(step, out);
    if (std::fwrite(out.data(), sizeof(float), out.size(), stdout) != out.size())
      return fail(ErrorCode::kResourceExhausted, "cannot write");
    step.clear();
  }
  return {};
}

Status greedy(const Words& words) {
  std::vector<std::int32_t> ids = ids_of(words, 4);
  const std::int64_t more = std::stoi(words[3]), start = static_cast<std::int64_t>(ids.size());
  KW_TRY(Loaded model, load(words[1], words[2], {2, {1, start + more, start}}));
  Step step;
  for (std::size_t i = 0; i < ids.size(); ++i) step.add(ids[i], static_cast<std::int32_t>(i), 0);
  for (std::int64_t i = 0; i < more; ++i) {
    step.samples = {greedy_at(static_cast<std::int32_t>(step.tokens.size()) - 1)};
    Sample sample;
    model.engine->run(step, {&sample, 1});
    fmt::print("{} ", sample.token);
    step.clear();
    step.add(sample.token, static_cast<std::int32_t>(start + i), 0);
  }
  fmt::print("\n");
  return {};
}

Status speed(const Words& words) {
  const int batch = std::stoi(words[3]), context = std::stoi(words[4]), steps = std::stoi(words[5]);
  KW_TRY(Loaded model,
         load(words[1], words[2], {std::stoi(words[6]), {batch, context + steps + 2, batch}}));
  std::vector<Sample> samples(static_cast<std::size_t>(batch));
  auto decode = [&](int position) {
    Step step;
    for (int slot = 0; slot < batch; ++slot) {
      step.add((slot * 31 + position) % 1000, position, slot);
      step.samples.push_back(greedy_at(slot));
    }
    model.engine->run(step, samples);
  };
  for (int i = 0; i < 3; ++i) decode(context + i);
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < steps; ++i) decode(context + i);
  std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  fmt::print("{}\n", Json{{"tokens_per_second", batch * steps / wall.count()}}.dump());
  return {};
}

// One step of all tokens, of which the last is sampled.
Status prompt(const Words& words) {
  const int tokens = std::stoi(words[3]), rounds = std::stoi(words[4]);
  KW_TRY(Loaded model, load(words[1], words[2], {std::stoi(words[5]), {1, tokens + 1, tokens}}));
  Step step;
  for (int i = 0; i < tokens; ++i) step.add(i * 31 % 1000, i, 0);
  step.samples = {greedy_at(tokens - 1)};
  Json rates = Json::array();
  for (int i = -1; i < rounds; ++i) {
    Sample sample;
    const auto start = std::chrono::steady_clock::now();
    model.engine->run(step, {&sample, 1});
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    if (i >= 0) rates.push_back(tokens / wall.count());
  }
  fmt::print("{}\n", Json{{"tokens_per_second", rates}}.dump());
  return {};
}

Status save(const Words& words) {
  KW_TRY(ModelConfig config, read_model_config(words[1]));
  auto type = weight_type_from_string(words[3]);
  if (!type) return fail(ErrorCode::kInvalidArgument, "no weight type {}", words[3]);
  KW_TRY(Parameters parameters, load_checkpoint(words[1], config, WeightType::kFloat32));
  return save_checkpoint(words[2], parameters, {*type, 200'000});
}

Status init(const Words& words) {
  KW_TRY(std::string text, os::read_file(words[1]));
  KW_TRY(Json value, parse_json(text));
  KW_TRY(ModelConfig config, model_config_from_json(value, words[1]));
  auto type = weight_type_from_string(words[4]);
  if (!type) return fail(ErrorCode::kInvalidArgument, "no weight type {}", words[4]);
  KW_TRY(Parameters parameters, Parameters::make(config, WeightType::kFloat32));
  initialise(parameters, std::stoull(words[3]));
  return save_checkpoint(words[2], parameters, {.type = *type});
}

Status run(const Words& words) {
  const std::string command = words.empty() ? "" : words[0];
  if (command == "logits" && words.size() > 5) return logits(words);
  if (command == "greedy" && words.size() > 4) return greedy(words);
  if (command == "speed" && words.size() == 7) return speed(words);
  if (command == "prompt" && words.size() == 6) return prompt(words);
  if (command == "save" && words.size() == 4) return save(words);
  if (command == "init" && words.size() == 5) return init(words);
  return fail(ErrorCode::kInvalidArgument, "see the first lines of tests/lm/probe.cc");
}

}  // namespace
}  // namespace kw::lm

int main(int argc, char** argv) {
  kw::Status done = kw::lm::run({argv + 1, argv + argc});
  if (done) return 0;
  fmt::print(stderr, "{}\n", done.error().message());
  return kw::exit_code(done.error().code());
}
