// Fresh secret inputs: from the generators (definitions), the oracle's get_inputs (modules) or
// files (safetensors). Not thread-safe.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "gym/checker/buffers.h"
#include "gym/checker/oracle_client.h"
#include "gym/named_fds.h"
#include "task/problem.h"
#include "task/signature.h"

namespace kw::gym {

class InputSource {
 public:
  // plans: one a tensor input of the definition, statics included, by name (the supervisor's
  // "inputs"); empty for modules.
  static Result<InputSource> of_definition(const task::Signature& signature, const Json& plans,
                                           ReceivedFds& fds);
  static InputSource of_module(const task::Signature& signature, OracleClient& oracle);

  // New values for every tensor of the set, at its layout's present offsets. The answer is not ok
  // when get_inputs() failed.
  Result<OracleAnswer> fill(SharedTensors& set, std::uint64_t seed);
  // Whether a few elements dominate an input here that are ordinary elsewhere in the problem.
  bool uneven() const;
  // Definitions: fill() with ordinary values in the place of those.
  void fill_ordinary(SharedTensors& set, std::uint64_t seed);
  // Definitions: values of the static inputs. Modules get theirs from OracleClient::state().
  void fill_statics(SharedTensors& statics, std::uint64_t seed);
  // Only this tensor gets new values: whether it matters shows in the outputs.
  // Whether every input is a stored tensor, the same in all calls.
  bool fixed() const;
  Result<OracleAnswer> refill(SharedTensors& set, std::size_t tensor, std::uint64_t seed);

 private:
  struct Tensor {
    task::DType dtype;
    std::vector<std::int64_t> shape;
    task::InputPolicy policy, ordinary;
    std::string fixed;  // bytes of a stored tensor; empty: generated
  };
  static void fill_one(const Tensor& tensor, std::span<std::byte> out, std::uint64_t seed);
  std::vector<Tensor> inputs_, statics_;
  OracleClient* oracle_ = nullptr;  // modules; borrowed
};

}  // namespace kw::gym
