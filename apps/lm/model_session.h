// A model that is loaded and can be asked: folder, weights, tokenizer, engine, scheduler.
#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include "base/result.h"
#include "lm/engine.h"
#include "lm/model/parameters.h"
#include "lm/tokenizer/tokenizer.h"
#include "serving/completion.h"
#include "serving/generator.h"

namespace kw::lm_program {

struct SessionOptions {
  std::filesystem::path model;
  std::string device = "cpu";
  std::string dtype = "auto";  // float32, bfloat16, int8; auto: what holds all of the folder's
  // Of cuda: batch_invariant or fastest (lm/cuda/cuda_engine.h). The CPU's are invariant.
  std::string matmuls = "batch_invariant";
  int threads = 0;  // 0: all cores
  std::int64_t slots = 32;
  std::int64_t context = 4096;  // at most what the model has
  std::int64_t step_tokens = 512;
};

// Members in the order of who borrows whom.
class ModelSession {
 public:
  static Result<std::unique_ptr<ModelSession>> open(const SessionOptions& options);

  const lm::ModelConfig& config() const { return parameters_->config(); }
  std::string_view dtype() const { return to_string(parameters_->type()); }  // in memory
  std::int64_t context() const { return engine_->limits().context; }
  std::int64_t slots() const { return engine_->limits().slots; }
  const lm::Tokenizer& tokenizer() const { return *tokenizer_; }
  serving::Generator& generator() { return *generator_; }
  serving::Completions& completions() { return *completions_; }

 private:
  ModelSession() = default;
  std::unique_ptr<lm::Parameters> parameters_;
  std::unique_ptr<lm::Tokenizer> tokenizer_;
  std::unique_ptr<lm::Engine> engine_;
  std::unique_ptr<serving::Generator> generator_;
  std::unique_ptr<serving::Completions> completions_;
};

}  // namespace kw::lm_program
