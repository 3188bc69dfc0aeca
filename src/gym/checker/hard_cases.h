// HardCases: the hard inputs of one open workload that is timed: which there are, which of them the
// reference can be judged by, and its outputs for those that were asked for.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "gym/checker/input_source.h"
#include "gym/checker/output_checker.h"
#include "gym/checker/reference_runs.h"
#include "gym/checker/session_seeds.h"
#include "gym/inputs/hard.h"
#include "task/signature.h"
#include "task/verdict.h"

namespace kw::gym {

// The reference's outputs for one set of inputs.
struct KnownOutputs {
  Instance instance;
  std::unique_ptr<OracleComparison> comparison;  // borrows the instance
};

struct HardCase {
  HardMix mix;
  std::vector<bool> inputs;  // which are hard
  std::uint64_t seed = 0;    // of the inputs: the same for kMaxUses candidates
  int uses = 0;
  int version = 0;       // raised when other inputs take the place of these under the same seed
  std::string left_out;  // not empty: why nothing can be judged by it
  std::unique_ptr<KnownOutputs> known;  // null: nobody has asked yet
  std::unique_ptr<TensorMemory> kept;   // the inputs, to be copied; null: they are made each time

  bool is_uneven() const;
  std::string name() const;
};

// Not thread-safe. It borrows all that it is made of.
class HardCases {
 public:
  HardCases() = default;  // none
  HardCases(const task::Signature& signature, const InputSource& inputs,
            const OutputChecker& checker, SessionSeeds& seeds);

  // A workload on a GPU may keep so much of the inputs of its cases.
  static constexpr std::uint64_t kMaxKeptBytes = std::uint64_t{1} << 30U;
  // Keeps the inputs of cases, at most so many bytes in all. allocator: borrowed.
  void keep_inputs(TensorAllocator& allocator, std::uint64_t most_bytes) {
    allocator_ = &allocator;
    most_kept_ = most_bytes;
  }

  std::size_t size() const { return cases_.size(); }
  // The time to fill a set; get_inputs() of a module may be slow. 0: it was not measured.
  std::chrono::nanoseconds fill_time() const { return fill_time_; }
  void set_fill_time(std::chrono::nanoseconds time) { fill_time_ = time; }
  HardCase& at(std::size_t i) { return cases_[i]; }
  // The numbers of the cases of one judgement: all, or at most `most` in turn, so that judgements
  // that follow each other see all. The process pairs of a measurement share them, and pair is one
  // of them: the first two have all mixes along the first axis. Worn cases get other inputs.
  std::vector<std::size_t> choose(std::size_t most, int process_pairs = 1, int pair = 0);
  // Those that every candidate sees, unless everything is reduced to a few elements and is slow.
  std::vector<std::size_t> certain() const;

  // From now on the case has other inputs.
  void renew(HardCase& hard);

  // Fills the set with the case's inputs.
  Result<OracleAnswer> fill(HardCase& hard, InputSource& inputs, TensorMemory& set);
  // Runs the reference on the set, which holds the case's inputs, unless its outputs are known. If
  // nothing can be judged by them, the case's kinds are tried one by one on the set, those at fault
  // leave all cases, and the result is false.
  Result<bool> know(HardCase& hard, InputSource& inputs, ReferenceRuns& reference,
                    TensorMemory& set);
  // Runs the reference on the set, which holds the case's inputs: on the parts of outputs that
  // known.instance selects, or, where it selects none, on random parts of large outputs and the
  // whole of others. "" when the outputs can be judged by what `known` has then; else why not.
  Result<std::string> learn(const HardCase& hard, ReferenceRuns& reference, const TensorMemory& set,
                            KnownOutputs& known) const;
  // Forgets outputs where all together take too much memory.
  void save_memory();

  // One entry a case. calls: of the candidate, by case.
  std::vector<task::HardInputs> report(const std::vector<std::int64_t>& calls) const;

 private:
  void add(HardMix mix);
  Status keep(HardCase& hard, const TensorMemory& set);
  bool is_possible(HardKind kind) const;
  std::vector<std::size_t> axes() const;
  Status find_unfit_kinds(const HardCase& hard, InputSource& inputs, ReferenceRuns& reference,
                          TensorMemory& set);
  void leave_out(HardKind kind, const std::string& why);

  const task::Signature* signature_ = nullptr;
  const InputSource* inputs_ = nullptr;
  const OutputChecker* checker_ = nullptr;
  SessionSeeds* seeds_ = nullptr;
  std::vector<HardCase> cases_;              // mixes first
  std::size_t first_mixes_ = 0, mixes_ = 0;  // along the first axis, and along all
  bool reduces_all_ = false;                 // a mix would hide its parts from each other
  std::size_t next_ = 0;                     // of choose()
  std::chrono::nanoseconds fill_time_{0};
  TensorAllocator* allocator_ = nullptr;
  std::uint64_t most_kept_ = 0;
};

}  // namespace kw::gym
