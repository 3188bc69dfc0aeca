// CudaEngine, for the files that implement it and for tests and benchmarks that look inside.
#pragma once
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/context.h"
#include "lm/cuda/cuda_engine.h"
#include "lm/cuda/device_parameters.h"
#include "lm/cuda/matmuls.h"
#include "lm/cuda/memory_plan.h"
#include "lm/cuda/step_data.h"
#include "lm/slot_versions.h"

namespace kw::lm::cuda {

class CudaEngine : public Engine {
 public:
  struct WeightSource {
    std::size_t bytes = 0;  // of the GPU's memory that make() takes
    std::function<Result<DeviceParameters>(const Kernels&, const kw::cuda::Stream&)> make;
  };
  static Result<std::unique_ptr<CudaEngine>> make(const ModelConfig& config, WeightType type,
                                                  const CudaOptions& options,
                                                  const WeightSource& weights);
  ~CudaEngine() override;

  const EngineLimits& limits() const override { return options_.limits; }
  std::int64_t vocabulary() const override { return config_.vocabulary; }
  void run(const Step& step, std::span<Sample> samples) override;
  void run_for_logits(const Step& step, std::span<float> logits) override;
  void copy_slot(std::int32_t from, std::int32_t to, std::int32_t positions) override;
  void weights_changed(std::int32_t version) override;
  std::int32_t weight_version() const override { return versions_.weights(); }

  // Benchmarks use these.
  const kw::cuda::Context& context() const { return context_; }
  const kw::cuda::Stream& stream() const { return stream_; }
  const MemoryPlan& memory() const { return memory_; }
  std::vector<std::string> matmul_choices() const { return matmuls_->choices(); }
  // It fills all slots with numbers, since attention over zeros would be faster.
  Status randomise_cache();
  // The milliseconds that each kernel of a step takes on the GPU, by name. Each is launched alone.
  Result<std::map<std::string, double>> profile(const Step& step);

 private:
  // A step as its kernels see it. A graph is a recording of one.
  struct Forward {
    const StepData* data = nullptr;
    std::int64_t rows = 0;  // that are computed
    MatmulRows matmuls;     // as many or more
    std::int64_t decode_rows = 0, splits = 1, prefill_rows = 0, tiles = 0;
  };
  // Samples of a step whose logits are computed at once.
  struct Drawing {
    const StepData* data = nullptr;
    std::int64_t first = 0, count = 0, padded = 0;
  };
  struct Buffers {
    kw::cuda::DeviceBuffer kv, cosine, sine, residual, parts, normed, squares, attended, activated,
        last, logits, partial, partial_statistics, partial_counters, masks, own_statistics,
        drawn_statistics;
    kw::cuda::PinnedBuffer host_masks, samples, tops;
  };
  using Places = std::array<MatmulPlace, kMatmulKinds.size()>;

  CudaEngine(const ModelConfig& config, WeightType type, const CudaOptions& options,
             kw::cuda::Context context);
  Status set_up(const WeightSource& weights);
  Status check_limits() const;
  Status make_buffers();
  Status fill_activations();
  Status randomise(const kw::cuda::DeviceBuffer& buffer, std::uint32_t number);
  void set_places();

  void check_step(const Step& step) const;
  // Whether all rows go through the matmuls together.
  bool runs_whole(const Step& step) const;
  void run_part(const Step& step, std::span<Sample> samples);
  void part_for_logits(const Step& step, std::span<float> logits);
  Status decode_through_graph(const Step& step, const StepPlan& plan,
                              std::span<const std::int32_t> masks);
  Result<const kw::cuda::GraphExec*> graph_for(std::int64_t rows, std::int64_t splits);
  Status send_step(const Step& step, const StepPlan& plan, std::span<const std::int32_t> masks,
                   Forward& forward);
  Status prepare_layer(const MatmulRows& rows);
  // `after_each` runs when the logits of a group of samples are there.
  Status run_directly(const Step& step, const std::function<Status(const Drawing&)>& after_each);
  Result<std::vector<std::int32_t>> send_masks(std::span<const SampleRequest> requests);
  void give_samples(const Step& step, std::size_t first, std::span<Sample> samples) const;

  Status forward(const Forward& f);
  Status embed(const Forward& f);
  Status add_to_residual(const Forward& f, MatmulKind kind, std::size_t layer);
  Result<PartCount> multiply(MatmulKind kind, std::size_t layer, const MatmulRows& rows);
  Status attend(const Forward& f, std::size_t layer, PartCount parts);
  Status attend_decoding(const Forward& f, const HeadInput& heads);
  HeadInput head_input(const Forward& f, std::size_t layer, PartCount parts) const;
  Status logits_of(const Drawing& d);
  Status draw(const Drawing& d);
  template <typename... Args>
  Status launch(const char* name, kw::cuda::Function function, kw::cuda::LaunchShape shape,
                const Args&... arguments);
  Status marked(std::string_view name);  // a stage's end, while profiling

  kw::cuda::Context context_;  // before all that lives in it
  ModelConfig config_;
  WeightType type_;
  CudaOptions options_;
  MemoryPlan memory_;
  kw::cuda::Stream stream_;
  kw::cuda::Event written_;  // the weights, on the default stream
  SlotVersions versions_;
  Kernels kernels_;
  DeviceParameters weights_;
  Lt lt_;
  std::unique_ptr<Matmuls> matmuls_;
  Buffers buffers_;
  StepData decode_data_, step_data_;
  NormInput last_norm_{};  // the final norm, of all rows: it adds the last layer's parts
  std::map<std::pair<std::int64_t, std::int64_t>, kw::cuda::GraphExec> graphs_;  // rows, splits
  struct Mark {
    std::string name;
    kw::cuda::Event event;
  };
  std::vector<Mark>* marks_ = nullptr;
};

// An engine for benchmarks, with random weights that are made on the GPU. They differ from those of
// lm::initialise.
Result<std::unique_ptr<CudaEngine>> make_random_engine(const ModelConfig& config, WeightType type,
                                                       std::uint64_t seed,
                                                       const CudaOptions& options);

}  // namespace kw::lm::cuda
