// The pages that checker and executor share. Fixed layout, fixed size, plain integers: nothing is
// ever parsed out of an executor. python/executor.py mirrors the offsets; protocol_test.cc pins
// them.
#pragma once
#include <cstddef>
#include <cstdint>

namespace kw::gym {

inline constexpr std::uint32_t kMaxSets = 64;    // rotating buffer sets, and calls per launch
inline constexpr std::uint32_t kMaxInputs = 32;  // dynamic tensors
inline constexpr std::uint32_t kMaxOutputs = 8;
inline constexpr std::uint32_t kMaxRank = 8;
// Kernels of a Triton candidate, reported one by one.
inline constexpr std::uint32_t kMaxKernels = 32;
// Kernels of a launch plan, reported one by one.
inline constexpr std::uint32_t kMaxPlanKernels = 32;
inline constexpr std::size_t kAlignment = 64;     // alignment of every buffer handed to a candidate
inline constexpr std::size_t kReadableTail = 64;  // readable bytes past the end of every input

enum class Op : std::uint32_t {
  kPrepare = 1,
  kCall = 2,
  kNullCall = 3,
  kExit = 4,
  kLoad = 5,
  kProfile = 6
};

// Written by the checker, mapped read-only in the executor. launch_seq is stored last (release) and
// counts 1, 2, 3...
struct CommandPage {
  std::uint64_t launch_seq;
  std::uint32_t op;     // Op
  std::uint32_t calls;  // number of calls of this launch
  std::uint64_t reserved[6];
  std::uint32_t set_of_call[kMaxSets];
  std::byte padding[4096 - 64 - 4 * kMaxSets];
  std::uint64_t input_offset[kMaxSets][kMaxInputs];  // of each input tensor (scalars: unused) in
                                                     // its set's input memfd
  std::uint64_t output_offset[kMaxSets]
                             [kMaxOutputs];  // destination-passing: in its set's output memfd
};

enum class ExecutorState : std::uint32_t { kStarting = 0, kReady = 1, kFailed = 2 };

enum class Failure : std::uint32_t {
  kNone = 0,
  kLoad = 1,          // the module or shared object does not load
  kEntryMissing = 2,  // no run, ModelNew, ...
  kException = 3,     // a call threw; its text is in the log
  kOutputKind = 4,    // a returned value is not a dense CPU tensor (a list, a subclass, a lazy or
                      // meta tensor ...)
  kOutputCount = 5,
  kUnsupported = 6,
  // A GPU executor's.
  kKernelFault = 7,     // a kernel ended with an error: an illegal address, a trap ...
  kLaunchRefused = 8,   // the driver does not start a kernel: its grid, block or shared memory
  kDeviceMemory = 9,    // the GPU has no memory for the plan
  kKernelTimeout = 10,  // kernels that do not end
};

enum class Style : std::uint32_t { kUnknown = 0, kDestinationPassing = 1, kReturning = 2 };

// A candidate's report about one returned output. The checker range-checks every field and reads
// only inside the arena.
struct OutputReport {
  std::uint64_t offset;  // bytes, in the arena
  std::uint32_t dtype;   // tensor::DType
  std::uint32_t rank;
  std::int64_t shape[kMaxRank];
  std::int64_t stride[kMaxRank];  // elements
};

// Triton: a kernel that ran, with its compile-time constants and options.
struct KernelReport {
  std::uint8_t identity[32];  // the same as in TritonEntry (src/gym/compile/triton_build.h)
  std::uint64_t launches;
  std::uint64_t programs;  // programs of all launches
  std::uint64_t reserved[2];
};

// A launch plan: all launches of one function in the call that was profiled.
struct PlanKernelReport {
  std::uint64_t ns;                      // of all of them
  std::uint32_t launches;                // 0: the report is of no kernel
  std::uint32_t registers, local_bytes;  // of a thread
  std::uint32_t shared_bytes, threads;   // of a block: static and dynamic; the most
  std::uint32_t resident_threads;        // of a multiprocessor, at once
};

// Written by the executor. The checker copies a field once and range-checks the copy.
struct ReplyPage {
  std::uint64_t done_seq;  // stored last (release): equals launch_seq when the launch is done
  std::uint32_t state;     // ExecutorState
  std::uint32_t failure;   // Failure
  std::uint32_t style;     // Style, set before kReady
  std::uint32_t fault_signal;
  std::uint64_t fault_address;
  std::uint32_t fault_on_input;  // 1: the address lies in a read-only input mapping
  std::uint32_t failed_call;
  std::byte padding[64 - 40];
  std::uint32_t
      kernel_count;  // Triton, since the start; kernels beyond kMaxKernels are only counted
  std::uint32_t configurations;  // the most that an autotuner of the candidate's had to choose from
  std::uint64_t library_calls;   // operators of torch that computed outside the kernels
  std::uint32_t masked_lanes;    // 1: lanes were loaded that a mask left out, without `other`
  std::uint32_t unused;
  // GPU: the last launch's calls between events of the executor's stream, and all that it put on
  // the stream. Elsewhere 0.
  std::uint64_t device_ns, device_span_ns;
  // GPU: memory that a call takes beside inputs and statics: outputs, a plan's scratch and
  // constants, the most that torch allocates in a call. 0: not known.
  std::uint64_t call_bytes;
  // GPU, after kProfile: fills and copies of the plan's call, and kernels beyond kMaxPlanKernels;
  // and the threads that a multiprocessor can hold.
  std::uint64_t other_ns;
  std::uint32_t other_steps, most_threads;
  std::byte more_padding[1024 - 128];
  KernelReport kernels[kMaxKernels];
  PlanKernelReport plan_kernels[kMaxPlanKernels];
  OutputReport reports[kMaxSets][kMaxOutputs];
};

static_assert(offsetof(CommandPage, set_of_call) == 64);
static_assert(offsetof(CommandPage, input_offset) == 4096);
static_assert(offsetof(CommandPage, output_offset) == 4096 + 8 * 64 * 32);
static_assert(sizeof(CommandPage) == 4096 + 8 * 64 * 32 + 8 * 64 * 8);
static_assert(offsetof(ReplyPage, fault_address) == 24);
static_assert(offsetof(ReplyPage, kernel_count) == 64);
static_assert(offsetof(ReplyPage, device_ns) == 88);
static_assert(offsetof(ReplyPage, device_span_ns) == 96);
static_assert(offsetof(ReplyPage, call_bytes) == 104);
static_assert(offsetof(ReplyPage, kernels) == 1024);
static_assert(offsetof(ReplyPage, plan_kernels) == 3072);
static_assert(sizeof(PlanKernelReport) == 32);
static_assert(sizeof(KernelReport) == 64);
static_assert(offsetof(ReplyPage, reports) == 4096);
static_assert(sizeof(OutputReport) == 144);

// The header at the start of a compiler's output memfd; the artefact follows.
struct BuildHeader {
  static constexpr std::uint64_t kMagic = 0x31444C495542574BULL;  // "KWBUILD1"
  std::uint64_t magic;
  // 0 built, 1 a command failed, 2 no artefact, 3 artefact too large, 4 refused: nobody's fault
  std::uint32_t status;
  std::int32_t exit_code;  // of the failing command; negative: the signal
  std::uint64_t artifact_bytes;
  std::uint64_t reserved[5];
};
static_assert(sizeof(BuildHeader) == 64);

// The oracle's answer to every request; text (description, error) stands in the text memfd.
struct OracleReply {
  std::uint32_t status;  // 0 done, 1 the reference failed (text says how), 2 bad request
  std::uint32_t detail;
  std::uint64_t text_bytes;
  std::uint64_t reserved[6];
};
static_assert(sizeof(OracleReply) == 64);

}  // namespace kw::gym
