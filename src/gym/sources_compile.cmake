# Compile stage of the gym: toolchain, plan, build cache, the supervisor's side of a build.
set(KW_COMPILE_HDRS
  compile/build_cache.h compile/compile.h compile/cubin.h compile/cuda_toolchain.h compile/device_diagnostics.h compile/kernel_origin.h compile/plan.h compile/program_output.h compile/python_packages.h compile/shared_object.h
  compile/toolchain.h compile/triton_build.h compile/triton_toolchain.h)
set(KW_COMPILE_SRCS
  compile/build_cache.cc compile/compile.cc compile/cubin.cc compile/cuda_toolchain.cc compile/device_diagnostics.cc compile/diagnostics.cc compile/kernel_origin.cc compile/plan.cc compile/program_output.cc
  compile/python_packages.cc compile/shared_object.cc compile/toolchain.cc compile/triton_build.cc compile/triton_toolchain.cc)
set(KW_COMPILE_TESTS compile/build_cache_test.cc compile/cubin_test.cc compile/device_diagnostics_test.cc compile/device_plan_test.cc compile/kernel_origin_test.cc compile/plan_test.cc compile/triton_build_test.cc)
