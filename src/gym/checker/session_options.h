// The supervisor's options for a session, and the mechanisms that a test has switched off.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace kw::gym {

// Mechanisms, so that a test can switch each off and show what gets through then
// (docs/security.md). All on otherwise.
struct Mechanisms {
  bool freeze = true, poison = true, rehash = true, moving_addresses = true, fresh_inputs = true,
       canaries = true, interleaving = true, seal = true;
  bool clear = true;         // memory is zeroed before another executor gets it
  bool snapshot = true;      // compare at once, before anything else runs
  bool check_timed = true;   // every timed call is compared
  bool audit = true;         // secret calls are compared with float64
  bool cpu_witness = true;   // core time may not exceed wall time
  bool mixed_inputs = true;  // secret calls have hard inputs
  bool edges = true;         // secret bytes lie around inputs

  // "admission" and "evidence" are the supervisor's. kInvalidArgument for an unknown name.
  static Result<Mechanisms> without(const std::vector<std::string>& disabled);
};

struct SessionOptions {
  int threads = 1;
  bool timing = true, deterministic = false;
  bool timed = true;         // the problem's policy has the workload timed, if not here and now
  bool hard_inputs = false;  // the workload is one whose calls are mixed with hard ones
  double timeout_seconds = 0;
  Mechanisms mechanisms;
};

}  // namespace kw::gym
