// Problem: what is judged. A definition (FlashInfer-Bench form) or a module (KernelBench .py), its
// workloads and its policy.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "task/target.h"
#include "tensor/dtype.h"

namespace kw::task {

// ---- FlashInfer-Bench Definition (facts: name, op_type, axes, inputs, outputs, reference, tags,
// description, constraints) ----
struct Axis {
  std::string name;
  // Set: a constant axis, or one computed from constants. Not set: each workload has a value.
  std::optional<std::int64_t> value;
  std::string description;
  std::string expression = {};  // over other axes, as written; empty: the axis is not computed
};

struct TensorSpec {
  std::string name;
  std::optional<std::vector<std::string>>
      shape;  // axis names; nullopt: a host scalar; []: a 0-d tensor
  tensor::DType dtype = tensor::DType::kFloat32;
  std::string description;
  bool optional = false;  // of an input: other users may leave it out; here workloads give it
};

struct Definition {
  std::string name;
  std::string op_type;
  std::string description;
  std::vector<std::string> tags;
  std::vector<Axis> axes;  // declaration order
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  std::string reference;  // Python source with a top-level run
  std::vector<std::string> constraints;
  // SOL-ExecBench's: the reference's function (axes and scalars by name, device) -> inputs by name,
  // which makes the inputs of workloads with CustomInput; empty: there is none.
  std::string custom_inputs_entrypoint = {};
};

// ---- Workload ----
struct RandomInput {};
struct ScalarInput {
  Json value;  // number or boolean
};
struct SafetensorsInput {
  std::string path;  // relative to the data set's root
  std::string tensor_key;
};
struct CustomInput {};  // made by Definition::custom_inputs_entrypoint, as are all other tensors
using InputSource = std::variant<RandomInput, ScalarInput, SafetensorsInput, CustomInput>;

struct Workload {
  std::string uuid;
  std::vector<std::pair<std::string, std::int64_t>> axes;  // values of the axes without one
  std::vector<std::pair<std::string, InputSource>> inputs;

  bool has_custom_inputs() const;
};

// ---- Policy (policy.toml; docs/formats/policy.md) ----
enum class Library { kKernelOnly, kLibrariesAllowed, kAnything };

enum class CheckKind { kValues, kExact, kArgmaxOf, kTopkOf, kSet, kSampling };

struct OutputPolicy {
  CheckKind check = CheckKind::kValues;
  std::string of;  // argmax_of, topk_of: the input (or output) whose values the indices point into
  std::int64_t axis = -1;  // axis of `of` that the indices run along
  bool largest = true;     // argmax / top-k; false: argmin / smallest
  std::int64_t reduction_length =
      0;  // terms summed per element, 0: unknown (the widest input row is taken)
};

enum class Distribution {
  kDefault,    // FlashInfer-Bench's: normal for floats, uniform integers in [-1024, 1024), booleans
               // fair
  kNormal,     // mean `low`=0, standard deviation `high`=1
  kUniform,    // [low, high)
  kIntegers,   // whole numbers in [low, high], in whatever dtype: exact sums
  kSpikes,     // normal, with one element in 1024 scaled by `high`=1e4 at secret places
  kOneHot,     // rows of zeros with a single secret one
  kWideRange,  // rows scaled by secret powers of two from 2^low=-10 to 2^high=10
  kProbabilities,  // rows: softmax of normals
  kPermutation,    // each row a secret permutation of 0..n-1 (indices)
  kConstant,       // all elements `low`
};

// The values that hard inputs of a timed workload may have beyond the distribution's own.
enum class InputDomain {
  kAny,
  kPositive,  // the ordinary values' signs
  kOwn,       // values that the distribution draws, in any order and as often as one likes
  kFixed,     // none: probabilities, permutations, constants
};

struct InputPolicy {
  Distribution distribution = Distribution::kDefault;
  std::optional<double> low, high;
  std::optional<InputDomain> domain = {};  // nullopt: domain_of() tells it from the distribution
};
// kAny for normal values and what is made of them; kOwn where low and high are limits.
InputDomain domain_of(const InputPolicy& policy);

struct WorkloadPolicy {
  std::vector<Target> targets = {Target::kCpu};
  std::string label;                          // "main", "odd sizes", "spikes": for people
  bool timed = true;                          // false: correctness only
  std::map<std::string, InputPolicy> inputs;  // overrides Policy::inputs
};

struct Policy {
  std::string family;  // elementwise, activation, reduction, ...
  Library library = Library::kLibrariesAllowed;
  bool any_shape = false;            // shape contract: these workloads only, or any axis values
  bool deterministic = false;        // two calls with equal inputs must agree bit by bit
  bool state_checked = false;        // modules: buffer updates are checked
  std::vector<std::string> statics;  // definitions: inputs given once at prepare
  std::map<std::string, OutputPolicy> outputs;
  std::map<std::string, InputPolicy> inputs;
  std::map<std::string, WorkloadPolicy> workloads;  // by uuid
};

// ---- Module: a KernelBench problem file ----
struct Module {
  std::string source;                      // Python with Model, get_inputs, get_init_inputs
  std::string entry_point = "Model";       // KernelBook rows name their class
  std::int64_t level = 0, problem_id = 0;  // 0: unknown
  std::vector<std::pair<std::string, std::string>>
      settings;  // --set NAME=VALUE, canonical Python literals, sorted by name
};

struct Problem {
  std::string name;
  std::variant<Definition, Module> body;
  std::vector<Workload> workloads;  // modules: exactly one, uuid "module"
  Policy policy;
  std::filesystem::path root;  // safetensors paths are relative to it
  std::string origin;          // where it was read from, for messages
  std::string hash;  // SHA-256 of the canonical JSON of definition or module source, workloads,
                     // policy and --set values

  bool is_module() const { return std::holds_alternative<Module>(body); }
  const Definition& definition() const { return std::get<Definition>(body); }
  const Module& module() const { return std::get<Module>(body); }
  const WorkloadPolicy& workload_policy(const std::string& uuid) const;
  bool is_for(const std::string& uuid, Target target) const;
  std::vector<const Workload*> workloads_for(Target target) const;
};

Json to_json(const Policy& policy);
std::string problem_hash(const Problem& problem);

}  // namespace kw::task
