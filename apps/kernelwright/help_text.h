// What stands below the options in --help.
#pragma once

namespace kw::front {

inline constexpr const char* kMainFooter = R"(
Results go to stdout, everything else to stderr. Exit codes: 0 fine, 1 a candidate failed, 2 we failed,
3 the isolation asked for is not available here, 130 interrupted.

  kernelwright problems list                  the problems that come with the program
  kernelwright eval relu my_relu.cpp          is it right, and how fast?
  kernelwright eval --help                    all about judging)";

inline constexpr const char* kEvalFooter = R"(
  kernelwright eval problems/relu mine.cpp yours.py
  kernelwright eval level1/19_ReLU.py relu.cpp --set batch_size=16 --set dim=4096
  kernelwright eval --dataset problems --solutions solutions/ --out traces.jsonl --resume)";

inline constexpr const char* kCheckFooter = R"(
  kernelwright problems check problems --jobs 2
  kernelwright problems check KernelBench/level1 --out check.jsonl --markdown check.md --resume
  kernelwright problems check dataset.jsonl --set batch_size=16)";

inline constexpr const char* kPromptFooter = R"(
  kernelwright prompt problems/softmax --language cpp)";

}  // namespace kw::front
