// The definition that workloads and policies of the harnesses belong to.
#pragma once
#include "fuzz.h"
#include "task/definition_json.h"

namespace kw::fuzz {

inline const task::Definition& fixed_definition() {
  static const task::Definition kDefinition = [] {
    auto value = parse_json(R"({
      "name": "mm", "op_type": "gemm",
      "axes": {"M": {"type": "var"}, "N": {"type": "var"}, "K": {"type": "const", "value": 64}},
      "inputs": {"x": {"shape": ["M", "K"], "dtype": "float32"},
                 "w": {"shape": ["K", "N"], "dtype": "bfloat16"},
                 "n": {"shape": null, "dtype": "int8"}, "s": {"shape": null, "dtype": "float32"}},
      "outputs": {"y": {"shape": ["M", "N"], "dtype": "float32"},
                  "i": {"shape": ["M"], "dtype": "int64"}},
      "constraints": ["M % 2 == 0", "N <= 4 * K"],
      "reference": "def run(x, w, n, s):\n    return x @ w, x.argmax(1)\n"})");
    KW_CHECK(value);
    auto definition = task::definition_from_json(*value, "");
    KW_CHECK(definition);
    return *definition;
  }();
  return kDefinition;
}

}  // namespace kw::fuzz
