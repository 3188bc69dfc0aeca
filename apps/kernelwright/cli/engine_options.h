// A model that kernelwright-lm runs on this machine.
#pragma once
#include <string>

#include "base/json.h"
#include "base/option_facts.h"

namespace kw::front {

struct EngineOptions {
  std::string device = "cpu", dtype = "auto";
  std::string matmuls = "batch_invariant";  // of cuda: or fastest; the CPU's always are invariant
  int threads = 0, slots = 32;
  int context = 4096;  // 0, of generate only: what the prompts need
};

// Commands give --threads another name, --context another help and ranges of their own.
template <OptionsOf<EngineOptions> Options, typename Visit>
void describe(Options& o, Visit&& visit) {
  using Facts = OptionFacts;
  visit("device", o.device, Facts{"--device", "NAME", "", "cpu or cuda"});
  visit("dtype", o.dtype,
        Facts{"--dtype", "NAME", "",
              "weights in memory: float32, bfloat16, int8, or auto: as in the folder"});
  visit("matmuls", o.matmuls,
        Facts{"--matmuls", "NAME", "",
              "on cuda: batch_invariant, or fastest: then an answer depends on what else is "
              "computed"});
  visit("threads", o.threads, Facts{"--threads", "N", "", "0: all cores"});
  visit("slots", o.slots, Facts{"--slots", "N", "", "sequences at once"});
  visit("context", o.context, Facts{"--context", "N"});
}

// It adds the keys that kernelwright-lm reads to an object.
inline void add_to(Json& settings, const EngineOptions& engine) {
  describe(engine,
           [&](const char* key, const auto& value, const OptionFacts&) { settings[key] = value; });
}

}  // namespace kw::front
