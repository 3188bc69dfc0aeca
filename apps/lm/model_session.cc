#include "model_session.h"

#include <algorithm>
#include <thread>

#include <sched.h>

#include "lm/cpu/cpu_engine.h"
#include "lm/cuda/cuda_engine.h"
#include "lm/model/checkpoint.h"
#include "text/enum_names.h"

namespace kw::lm_program {
namespace {

int cores() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

Result<lm::WeightType> weight_type(const std::string& name, const lm::ModelConfig& config) {
  if (name == "auto")
    return config.dtype == "bfloat16" ? lm::WeightType::kBFloat16 : lm::WeightType::kFloat32;
  if (auto type = lm::weight_type_from_string(name)) return *type;
  return fail(ErrorCode::kInvalidArgument, "dtype \"{}\": expected auto, float32, bfloat16 or int8",
              name);
}

enum class Device { kCpu, kCuda };

constexpr auto kDevices =
    text::enum_names<Device>({{Device::kCpu, "cpu"}, {Device::kCuda, "cuda"}});

Result<Device> device_of(const SessionOptions& options) {
  if (const auto known = kDevices.value(options.device)) return *known;
  return fail(ErrorCode::kInvalidArgument, "device \"{}\": expected cpu or cuda", options.device);
}

Result<lm::cuda::MatmulChoice> matmul_choice(const SessionOptions& options, Device device) {
  auto choice = lm::cuda::matmul_choice_from_string(options.matmuls);
  if (!choice)
    return fail(ErrorCode::kInvalidArgument, "matmuls \"{}\": expected batch_invariant or fastest",
                options.matmuls);
  if (device == Device::kCpu && *choice == lm::cuda::MatmulChoice::kFastest)
    return fail(ErrorCode::kInvalidArgument,
                "matmuls \"fastest\": for device cuda; a CPU's are always batch_invariant");
  return *choice;
}

Result<std::unique_ptr<lm::Engine>> make_engine(const lm::Parameters& parameters,
                                                const SessionOptions& options, Device device,
                                                lm::cuda::MatmulChoice matmuls) {
  const lm::EngineLimits limits{options.slots,
                                std::min(options.context, parameters.config().max_position),
                                std::max(options.step_tokens, options.slots)};
  if (device == Device::kCuda) {
    lm::cuda::CudaOptions cuda;
    cuda.limits = limits;
    cuda.matmuls = matmuls;
    return lm::cuda::make_cuda_engine(parameters, cuda);
  }
  lm::cpu::CpuOptions cpu;
  cpu.threads = options.threads == 0 ? cores() : options.threads;
  cpu.limits = limits;
  return lm::cpu::make_cpu_engine(parameters, cpu);
}

}  // namespace

Result<std::unique_ptr<ModelSession>> ModelSession::open(const SessionOptions& options) {
  KW_TRY(const Device device, device_of(options));
  KW_TRY(const lm::cuda::MatmulChoice matmuls, matmul_choice(options, device));
  std::unique_ptr<ModelSession> session(new ModelSession);
  KW_TRY(lm::ModelConfig config, lm::read_model_config(options.model));
  KW_TRY(lm::WeightType type, weight_type(options.dtype, config));
  KW_TRY(lm::Tokenizer tokenizer, lm::Tokenizer::load(options.model));
  if (tokenizer.size() > static_cast<std::size_t>(config.vocabulary))
    return fail(ErrorCode::kInvalidArgument,
                "{}: tokenizer.json has {} tokens, and the model's vocabulary {}",
                options.model.string(), tokenizer.size(), config.vocabulary);
  lm::ChatTemplate chat = lm::ChatTemplate::of(tokenizer);
  KW_TRY(lm::Parameters parameters, lm::load_checkpoint(options.model, config, type));
  session->parameters_ = std::make_unique<lm::Parameters>(std::move(parameters));
  session->tokenizer_ = std::make_unique<lm::Tokenizer>(std::move(tokenizer));
  KW_TRY(session->engine_, make_engine(*session->parameters_, options, device, matmuls));
  session->generator_ = std::make_unique<serving::Generator>(*session->engine_);
  session->completions_ = std::make_unique<serving::Completions>(
      *session->tokenizer_, std::move(chat), *session->generator_, config.eos);
  return session;
}

}  // namespace kw::lm_program
