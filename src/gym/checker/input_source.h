// Fresh secret inputs: from the generators (definitions), the oracle (get_inputs() of a module, a
// definition's own function) or files (safetensors). Not thread-safe.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "gym/checker/oracle.h"
#include "gym/checker/tensor_memory.h"
#include "gym/inputs/hard.h"
#include "gym/messages/checker_messages.h"
#include "gym/named_fds.h"
#include "task/problem.h"
#include "task/signature.h"

namespace kw::gym {

class InputSource {
 public:
  // plans: one a tensor input of the definition, statics included, by name (the supervisor's
  // "inputs").
  static Result<InputSource> of_definition(const task::Signature& signature,
                                           const std::vector<InputPlan>& plans, ReceivedFds& fds);
  // plans: of inputs whose domain is not any, which alone counts. kInvalidArgument for a plan of no
  // tensor. oracle: borrowed.
  static Result<InputSource> of_oracle(const task::Signature& signature,
                                       const std::vector<InputPlan>& plans, Oracle& oracle);

  // Writes new values to every tensor of the set, at its present places. The answer is not ok when
  // the oracle failed to make them.
  Result<OracleAnswer> fill(TensorMemory& set, std::uint64_t seed);
  // Writes new values to one tensor: whether it matters shows in the outputs.
  Result<OracleAnswer> refill(TensorMemory& set, std::size_t tensor, std::uint64_t seed);
  // Whether a few elements dominate an input here that are ordinary elsewhere in the problem.
  bool uneven() const;
  // Definitions: as fill(), with ordinary values in the place of those.
  Status fill_ordinary(TensorMemory& set, std::uint64_t seed);
  // Definitions: values of the static inputs. Modules get theirs from Oracle::state().
  Status fill_statics(TensorMemory& statics, std::uint64_t seed);
  // Whether every input is a stored tensor, the same in all calls.
  bool fixed() const;
  // Whether input i may have values of this kind.
  bool is_possible(std::size_t i, HardKind kind) const;
  std::size_t count() const { return inputs_.size(); }
  // After fill(): makes the inputs hard for which chosen[i] is set, as far as they may be.
  Status harden(TensorMemory& set, const HardMix& mix, const std::vector<bool>& chosen,
                std::uint64_t seed) const;

 private:
  struct Tensor {
    InputSpec spec;
    task::InputPolicy ordinary;
    std::string fixed;  // bytes of a stored tensor; empty: generated
    task::InputDomain domain = task::InputDomain::kAny;
  };
  static Status fill_one(const Tensor& tensor, TensorMemory& memory, std::size_t i,
                         std::uint64_t seed);
  std::vector<Tensor> inputs_, statics_;
  Oracle* oracle_ = nullptr;  // where it makes the inputs; borrowed
};

}  // namespace kw::gym
