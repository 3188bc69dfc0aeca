// The concrete interface of a problem at one workload: what run() gets, in order, with shapes,
// dtypes and values. Made from a Definition and axis values, or from the oracle's description of a
// module (KernelBench).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "task/problem.h"
#include "tensor/dtype.h"

namespace kw::task {

enum class Role { kInput, kScalar, kStatic, kOutput };

struct Argument {
  std::string name = {};  // a C and Python identifier; parameters: "fc_weight" for state_dict key
                          // "fc.weight"
  Role role = Role::kInput;
  tensor::DType dtype = tensor::DType::kFloat32;  // scalars of modules: kInt64, kFloat64 or kBool
  std::vector<std::int64_t> shape = {};           // [] is a 0-d tensor; scalars: []
  Json value = {};                                // scalars only: the number or boolean
  std::string state_key = {};  // statics of modules: the state_dict key; else empty
  bool is_buffer = false;      // statics of modules: a buffer, not a parameter

  std::int64_t elements() const;  // product of shape, 1 for []
  std::size_t bytes() const;      // elements() * size_of(dtype)
};

struct Signature {
  std::vector<Argument> inputs;   // dynamic tensors and scalars, in call order
  std::vector<Argument> statics;  // given once at prepare(); to a cpp candidate without prepare()
                                  // passed on every call
  std::vector<Argument> outputs;
  // Variable axes: trailing int64_t arguments, in declaration order.
  std::vector<std::pair<std::string, std::int64_t>> axes;
  // constexpr in problem.h: constant axes or init arguments (numbers, booleans, lists of numbers).
  std::vector<std::pair<std::string, Json>> constants;
  // The constructor's parameters in their order, as Python writes them, with "=" behind those that
  // have a default: "in_channels", "eps=", "*", "groups", "**options". Modules only; nullopt:
  // not known.
  std::optional<std::vector<std::string>> init_parameters;
  // Axis names of each tensor of inputs, statics and outputs. Definitions only: modules have all
  // three empty, and their dimensions become constants (x_0, x_1, ..., out_0).
  std::vector<std::vector<std::string>> input_axes, static_axes, output_axes;

  bool of_module() const { return output_axes.empty(); }
};

// A tensor of more bytes is refused wherever a Signature is made, so sizes never overflow.
inline constexpr std::int64_t kMaxTensorBytes = std::int64_t{1} << 40;
inline constexpr std::size_t kMaxTensorRank = 8;

// The interface of a definition at one workload. `statics` names the inputs given once at
// prepare() (Policy::statics); an output without a shape is a 0-d tensor. kInvalidArgument names
// the axis or input that is missing, unknown, negative or too large.
Result<Signature> signature_of(const Definition& definition, const Workload& workload,
                               const std::vector<std::string>& statics = {});

// The struct's fields under their names; axes and constants as arrays of [name, value]; fields at
// their default are left out of arguments.
Json to_json(const Signature& signature);
Result<Signature> signature_from_json(const Json& value, const std::string& where);

// problem.h: element types, constexpr shapes and constants, prototypes of run (and prepare), so
// that a wrong one does not compile. It depends on the variable axes' names only: one build serves
// all workloads of a definition. Names: a character outside [A-Za-z0-9_] becomes "_"; a name that
// is a C++ keyword, one of problem.h's own names, (constants) a global name of the C library, or
// already taken, gets trailing underscores; a first digit gets "_" and a first "kw_" gets "x_" in
// front. Host scalars are passed by value in the declared
// dtype's type; bool as bool, floating types narrower than float as float.
std::string problem_header(const Signature& signature, bool has_prepare);

// problem.h of device code (cuda): the same constants, as constexpr that kernels can use, and, as a
// comment, the parameters of a kernel whose launch names no arguments. It includes nothing.
std::string device_header(const Signature& signature);

// A parameter of run() as problem.h declares it.
struct CppParameter {
  std::string type;  // "const float*", "int64_t"
  std::string name;
};
// Of run() without prepare(): inputs, statics, outputs, variable axes.
std::vector<CppParameter> cpp_parameters(const Signature& signature);

// Code that defines  extern "C" void kw_call(void* state, void* const* arguments)  and, with
// prepare,  extern "C" void* kw_prepare(void* const* statics).  It needs problem.h before it and
// nothing of the candidate's sources, so it may be included in front of them. It unpacks pointers
// and scalars in signature order: kw_call: inputs, statics, outputs, axes; kw_prepare: statics,
// axes. A scalar or axis argument points at 8 bytes: int64_t for integers, booleans and axes,
// double for floating types.
std::string call_shim(const Signature& signature, bool has_prepare);

}  // namespace kw::task
