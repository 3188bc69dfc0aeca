# Files of inputs/, check/ and measure/, the parts of the gym without processes. Included by src/gym/CMakeLists.txt.
set(KW_CHECK_HDRS
  inputs/fill.h inputs/half.h inputs/poison.h inputs/seeds.h inputs/stream.h inputs/wide.h)
set(KW_CHECK_SRCS
  inputs/fill.cc inputs/half.cc inputs/poison.cc inputs/seeds.cc inputs/stream.cc)
set(KW_CHECK_TESTS
  inputs/fill_test.cc inputs/half_test.cc inputs/poison_test.cc inputs/stream_test.cc)
# Loops over whole tensors: vectorised in every build type, and the same bits with and without FMA.
set_source_files_properties(inputs/half.cc inputs/fill.cc inputs/stream.cc
  PROPERTIES COMPILE_OPTIONS "-O3;-ffp-contract=off;-fno-math-errno;-fno-trapping-math")
