# Files of inputs/, check/ and measure/, the parts of the gym without processes. Included by src/gym/CMakeLists.txt.
set(KW_CHECK_HDRS
  inputs/fill.h inputs/half.h inputs/poison.h inputs/seeds.h inputs/stream.h inputs/wide.h
  check/baseline.h check/battery.h check/budget.h check/compare.h check/compat.h check/indices.h
  check/mismatch.h check/returned.h check/sampling.h check/structure.h check/tensor.h)
set(KW_CHECK_SRCS
  inputs/fill.cc inputs/half.cc inputs/poison.cc inputs/seeds.cc inputs/stream.cc
  check/baseline.cc check/battery.cc check/budget.cc check/compare.cc check/compat.cc check/indices.cc
  check/mismatch.cc check/returned.cc check/sampling.cc check/structure.cc check/tensor.cc)
set(KW_CHECK_TESTS
  inputs/fill_test.cc inputs/half_test.cc inputs/poison_test.cc inputs/stream_test.cc
  check/baseline_test.cc check/battery_test.cc check/calibration_test.cc check/compare_test.cc
  check/compat_test.cc check/indices_test.cc check/mismatch_test.cc check/returned_test.cc
  check/sampling_test.cc check/testing/families.cc)
# Loops over whole tensors: vectorised in every build type, and the same bits with and without FMA.
set_source_files_properties(inputs/half.cc inputs/fill.cc inputs/stream.cc check/baseline.cc
  PROPERTIES COMPILE_OPTIONS "-O3;-ffp-contract=off;-fno-math-errno;-fno-trapping-math")
