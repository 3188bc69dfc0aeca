// Of a model that kernelwright-lm runs on this machine.
#pragma once
#include <string>

#include "base/json.h"

namespace kw::front {

struct EngineOptions {
  std::string device = "cpu", dtype = "auto";
  std::string products = "batch_invariant";  // of cuda: or fastest; the CPU's always are invariant
  int threads = 0, slots = 32;
  int context = 4096;  // 0, of generate only: what the prompts need
};

// As kernelwright-lm reads it: adds its keys to an object.
inline void add_to(Json& settings, const EngineOptions& engine) {
  settings["device"] = engine.device;
  settings["dtype"] = engine.dtype;
  settings["products"] = engine.products;
  settings["threads"] = engine.threads;
  settings["slots"] = engine.slots;
  settings["context"] = engine.context;
}

}  // namespace kw::front
