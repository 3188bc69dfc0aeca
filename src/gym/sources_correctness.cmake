# Files of inputs/, correctness/ and measure/, the parts of the gym without processes. Included by src/gym/CMakeLists.txt.
set(KW_CORRECTNESS_HDRS
  inputs/fill.h inputs/hard.h inputs/normal_mixer.h inputs/poison.h inputs/seeds.h inputs/stream.h inputs/value_bounds.h inputs/wide.h
  correctness/baseline.h correctness/battery.h correctness/budget.h correctness/compare.h correctness/compat.h correctness/indices.h
  correctness/mismatch.h correctness/returned.h correctness/sampling.h correctness/selection.h correctness/share_test.h correctness/structure.h correctness/tensor.h
  measure/busy_time.h measure/clocked_samples.h measure/disturbance.h measure/processor_time.h measure/sequential_interval.h measure/statistics.h measure/stolen_time.h measure/timing_lock.h)
set(KW_CORRECTNESS_SRCS
  inputs/fill.cc inputs/hard.cc inputs/normal_mixer.cc inputs/poison.cc inputs/seeds.cc inputs/stream.cc inputs/value_bounds.cc
  correctness/baseline.cc correctness/battery.cc correctness/budget.cc correctness/compare.cc correctness/compat.cc correctness/indices.cc
  correctness/mismatch.cc correctness/returned.cc correctness/sampling.cc correctness/selection.cc correctness/share_test.cc correctness/structure.cc correctness/tensor.cc
  measure/clocked_samples.cc measure/disturbance.cc measure/processor_time.cc measure/sequential_interval.cc measure/statistics.cc
  measure/stolen_time.cc measure/timing_lock.cc)
set(KW_CORRECTNESS_TESTS
  inputs/fill_test.cc inputs/hard_test.cc inputs/normal_mixer_test.cc inputs/poison_test.cc inputs/stream_test.cc inputs/value_bounds_test.cc
  correctness/baseline_test.cc correctness/battery_test.cc correctness/budget_test.cc correctness/calibration_test.cc correctness/compare_test.cc correctness/compat_test.cc
  correctness/indices_test.cc correctness/mismatch_test.cc correctness/returned_test.cc correctness/sampling_test.cc correctness/selection_test.cc correctness/share_test_test.cc
  measure/busy_time_test.cc measure/clocked_samples_test.cc measure/disturbance_test.cc measure/processor_time_test.cc measure/sequential_interval_test.cc measure/statistics_test.cc measure/stolen_time_test.cc)
# Loops over whole tensors: vectorised in every build type, and the same bits with and without FMA.
set_source_files_properties(inputs/fill.cc inputs/hard.cc inputs/normal_mixer.cc inputs/stream.cc inputs/value_bounds.cc
  correctness/baseline.cc correctness/budget.cc correctness/compare.cc correctness/compat.cc
  PROPERTIES COMPILE_OPTIONS "-O3;-ffp-contract=off;-fno-math-errno;-fno-trapping-math")
