# kw::torch: libtorch from the torch package of KW_TORCH_PYTHON, CPU or CUDA build.
# Not find_package(Torch): with a CUDA build that one wants a whole CUDA toolkit even for programs without CUDA code.
set(KW_TORCH_PYTHON python3 CACHE STRING "the Python whose torch is linked")
# A file with torch takes long, and its headers are precompiled: eight together leave work for all cores.
set(KW_LIBRARY_BATCH 8)
execute_process(
  COMMAND ${KW_TORCH_PYTHON} -c
    "import importlib.util as u; from importlib import metadata; print(u.find_spec('torch').submodule_search_locations[0] + ';' + metadata.version('torch'))"
  OUTPUT_VARIABLE found RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(failed)
  message(FATAL_ERROR "${KW_TORCH_PYTHON} has no torch: name a Python with torch 2.11 or later with -DKW_TORCH_PYTHON=...")
endif()
list(GET found 0 torch_dir)
list(GET found 1 torch_version)
if(torch_version VERSION_LESS 2.11)
  message(FATAL_ERROR "${KW_TORCH_PYTHON} has torch ${torch_version}; 2.11 or later is needed")
endif()
message(STATUS "torch ${torch_version} in ${torch_dir}")

add_library(kw_torch INTERFACE)
add_library(kw::torch ALIAS kw_torch)
target_include_directories(kw_torch SYSTEM INTERFACE ${torch_dir}/include ${torch_dir}/include/torch/csrc/api/include)
# torch brings headers of its own fmt, of another version than ours: files that see both take all of fmt from the headers.
target_compile_definitions(kw_torch INTERFACE FMT_HEADER_ONLY=1)
# The CUDA half registers itself when it is loaded: it is linked though no symbol of it is used. What its own libraries need is found
# by its run path when the program starts, not by the linker.
target_link_options(kw_torch INTERFACE -Wl,--no-as-needed -Wl,--unresolved-symbols=ignore-in-shared-libs)
foreach(library c10 torch_cpu torch c10_cuda torch_cuda)
  if(EXISTS ${torch_dir}/lib/lib${library}.so)
    target_link_libraries(kw_torch INTERFACE ${torch_dir}/lib/lib${library}.so)
  endif()
endforeach()
target_link_libraries(kw_torch INTERFACE Threads::Threads)
