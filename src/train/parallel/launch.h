// Launch: which rank this process is, and where the ranks meet. A rank is one of several processes
// that train one model.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace kw::train {

struct Launch {
  int rank = 0, size = 1;              // of all machines together
  int local_rank = 0, local_size = 1;  // of this machine
  std::string address;                 // host or IP address of rank 0
  int port = 0;                        // where rank 0 listens
  int listener = -1;                   // rank 0 of start_ranks(): a socket that listens there
};

// The value of an environment variable, or nullopt.
using Variables = std::function<std::optional<std::string>(const char* name)>;
Variables process_variables();

// By torchrun's variables (RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR,
// MASTER_PORT), else by Slurm's inside of srun (SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID, the
// first host of SLURM_STEP_NODELIST or SLURM_NODELIST; port 29500 without MASTER_PORT), else one
// rank. torchrun listens at MASTER_PORT itself, so the ranks meet at the port after it. A batch
// script of Slurm without srun is one rank. kInvalidArgument names a variable that is missing or
// wrong.
Result<Launch> launch_of(const Variables& variables);

// The first host of a list of Slurm's: "gpu[07-09,12],login" is gpu07. kInvalidArgument where the
// list cannot be read.
Result<std::string> first_host(const std::string& list);

// Which GPU is this process's alone, as a value of CUDA_VISIBLE_DEVICES: the local rank's one of
// those that `visible`, the variable's value, leaves; the only one of a list of one, as Slurm gives
// each task its own. kInvalidArgument: the list has too few.
Result<std::string> visible_gpu(const Launch& launch, const std::optional<std::string>& visible);

}  // namespace kw::train
