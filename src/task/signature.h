// The concrete interface of a problem at one workload: what run() gets, in order, with shapes, dtypes and values.
// Made from a Definition and axis values, or from the oracle's description of a module (KernelBench).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "task/dtype.h"

namespace kw::task {

enum class Role { kInput, kScalar, kStatic, kOutput };

struct Argument {
  std::string name;                 // a C and Python identifier; parameters: "fc_weight" for state_dict key "fc.weight"
  Role role = Role::kInput;
  DType dtype = DType::kFloat32;    // scalars: kInt64, kFloat64 or kBool
  std::vector<std::int64_t> shape;  // [] is a 0-d tensor; scalars: []
  Json value;                       // scalars only: the number
  std::string state_key;            // statics of modules: the state_dict key; else empty
  bool is_buffer = false;           // statics of modules: a buffer, not a parameter

  std::int64_t elements() const;    // product of shape, 1 for []
  std::size_t bytes() const;        // elements() * size_of(dtype)
};

struct Signature {
  std::vector<Argument> inputs;   // dynamic tensors and scalars, in call order
  std::vector<Argument> statics;  // given once at prepare(); with a cpp candidate without prepare() passed on every call
  std::vector<Argument> outputs;
  std::vector<std::pair<std::string, std::int64_t>> axes;       // variable axes, trailing int64_t arguments, in declaration order
  std::vector<std::pair<std::string, Json>> constants;          // constexpr in problem.h: const axes or init arguments (numbers, booleans, lists of numbers)
  std::vector<std::vector<std::string>> input_axes, output_axes;  // names of the axes per tensor, definitions only (empty for modules)
};

Json to_json(const Signature& signature);
Result<Signature> signature_from_json(const Json& value, const std::string& where);

// problem.h: element types, constexpr shapes and constants, prototypes of run (and prepare), so that a wrong one does not compile.
std::string problem_header(const Signature& signature, bool has_prepare);
// A translation unit that defines  extern "C" void kw_call(void* state, void* const* arguments)  and, with prepare,
// extern "C" void* kw_prepare(void* const* statics): unpacks pointers and scalars (scalars point at their 8-byte value) in signature order:
// kw_call: inputs, statics, outputs, axes (each axis a pointer to int64_t). kw_prepare: statics, axes.
std::string call_shim(const Signature& signature, bool has_prepare);
// Whether C++ source defines prepare(...) outside comments and strings.
bool defines_prepare(std::string_view source);

}  // namespace kw::task
