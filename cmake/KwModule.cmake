# One function declares a module of src/: headers, sources, dependencies, tests.
include(GoogleTest)

add_library(kw_warnings INTERFACE)
target_compile_options(kw_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wconversion -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual>
  # GCC 13 takes fmt 9's big integers for overflows.
  $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,13>>:-Wno-array-bounds;-Wno-stringop-overflow>
  # Files that are joined: GCC takes unnamed namespaces for those of a header, and no longer sees that a variant is set.
  $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<BOOL:${CMAKE_UNITY_BUILD}>>:-Wno-subobject-linkage;-Wno-maybe-uninitialized>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${KW_WERROR}>>:-Werror>)

# GCC collects garbage so often that a tenth of the time goes there: a quarter more memory spares it.
cmake_host_system_information(RESULT kw_memory_mib QUERY TOTAL_PHYSICAL_MEMORY)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND kw_memory_mib GREATER 6000)
  add_compile_options("$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:RelWithDebInfo>>:SHELL:--param=ggc-min-expand=300 --param=ggc-min-heapsize=400000>")
endif()

# kw_join_sources(TARGET): where files are compiled together, a library's are by more than a test's, whose helpers share names.
# Twenty-four at once take three quarters of the time of three times eight.
set(KW_LIBRARY_BATCH 24 CACHE STRING "how many files of a library are compiled together with CMAKE_UNITY_BUILD")
function(kw_join_sources target)
  if(CMAKE_UNITY_BUILD)
    set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE ${KW_LIBRARY_BATCH})
  endif()
endfunction()

# kw_cold(TARGET): its time does not matter to anybody, its compile time does: a user's first build optimises it less.
function(kw_cold target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
endfunction()

# One precompiled header for every test: GoogleTest and JSON are most of a test file's compile time.
if(BUILD_TESTING)
  file(WRITE ${PROJECT_BINARY_DIR}/test_pch.cc "")
  add_library(kw_test_pch STATIC ${PROJECT_BINARY_DIR}/test_pch.cc)
  target_compile_features(kw_test_pch PUBLIC cxx_std_20)
  target_link_libraries(kw_test_pch PUBLIC GTest::gmock nlohmann_json::nlohmann_json tl::expected)
  target_precompile_headers(kw_test_pch PRIVATE <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp>)
  # Tests are compiled once and run once: optimising them takes longer than it saves.
  set(kw_test_flags $<$<CONFIG:RelWithDebInfo>:-O0>)
  target_compile_options(kw_test_pch PRIVATE ${kw_test_flags})
endif()

# Ends a test that hangs. No test is that slow, with two of them and two other programs on two cores either.
set(KW_TEST_SECONDS 1800)

# kw_add_test(NAME SRCS ... DEPS ... LABELS ...): one GoogleTest program, its cases as CTest tests.
#   WHOLE         one test, because its cases share a costly set-up; what it times is exclusive by the gym's lease
#   COST SECONDS  about how long it takes: the longest tests begin first
# Its labels get the folder as well (src_gym): .ci/run picks the tests of changed folders by it.
function(kw_add_test name)
  cmake_parse_arguments(T "WHOLE" "COST" "SRCS;DEPS;LABELS" ${ARGN})
  if(NOT BUILD_TESTING)
    return()
  endif()
  if(NOT T_LABELS)
    set(T_LABELS unit)
  endif()
  add_executable(${name}_test ${T_SRCS})
  target_link_libraries(${name}_test PRIVATE ${T_DEPS} kw_warnings GTest::gmock GTest::gtest_main)
  target_compile_options(${name}_test PRIVATE ${kw_test_flags})
  target_precompile_headers(${name}_test REUSE_FROM kw_test_pch)
  target_compile_definitions(${name}_test PRIVATE KW_SOURCE_DIR="${PROJECT_SOURCE_DIR}" KW_BINARY_DIR="${PROJECT_BINARY_DIR}")
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  string(REGEX REPLACE "^([^/]*)/([^/]*).*" "\\1_\\2" folder ${folder})
  if(T_WHOLE)
    add_test(NAME ${name} COMMAND ${name}_test)
    set_tests_properties(${name} PROPERTIES LABELS "${T_LABELS};${folder}" TIMEOUT ${KW_TEST_SECONDS})
    if(T_COST)
      set_tests_properties(${name} PROPERTIES COST ${T_COST})
    endif()
  else()
    # gtest_discover_tests loses all but the first of a list (and the timeout after it); ctest -L takes a regular expression.
    list(JOIN T_LABELS "+" labels)
    string(APPEND labels "+${folder}")
    gtest_discover_tests(${name}_test TEST_PREFIX ${name}. DISCOVERY_MODE PRE_TEST
      PROPERTIES LABELS "${labels}" TIMEOUT ${KW_TEST_SECONDS})
  endif()
  add_dependencies(kw_tests ${name}_test)
  foreach(kind unit threads)
    if(kind IN_LIST T_LABELS)
      if(NOT TARGET kw_${kind}_${folder})
        add_custom_target(kw_${kind}_${folder})
      endif()
      add_dependencies(kw_${kind}_${folder} ${name}_test)
    endif()
  endforeach()
endfunction()

# kw_add_module(NAME [COLD] HDRS ... SRCS ... COLD_SRCS ... DEPS ... PRIVATE_DEPS ... TESTS ... TEST_DEPS ...)
function(kw_add_module name)
  cmake_parse_arguments(M "COLD" "" "HDRS;SRCS;COLD_SRCS;DEPS;PRIVATE_DEPS;TESTS;TEST_DEPS;TEST_LABELS" ${ARGN})
  add_library(kw_${name} STATIC ${M_SRCS})
  if(M_COLD_SRCS)
    add_library(kw_${name}_cold OBJECT ${M_COLD_SRCS})
    target_compile_features(kw_${name}_cold PRIVATE cxx_std_20)
    target_include_directories(kw_${name}_cold PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(kw_${name}_cold PRIVATE ${M_DEPS} ${M_PRIVATE_DEPS} kw_warnings)
    set_target_properties(kw_${name}_cold PROPERTIES POSITION_INDEPENDENT_CODE ON)
    kw_cold(kw_${name}_cold)
    kw_join_sources(kw_${name}_cold)
    target_sources(kw_${name} PRIVATE $<TARGET_OBJECTS:kw_${name}_cold>)
  endif()
  add_library(kw::${name} ALIAS kw_${name})
  kw_join_sources(kw_${name})
  target_sources(kw_${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/src FILES ${M_HDRS})
  target_compile_features(kw_${name} PUBLIC cxx_std_20)
  target_link_libraries(kw_${name} PUBLIC ${M_DEPS} PRIVATE ${M_PRIVATE_DEPS} $<BUILD_INTERFACE:kw_warnings>)
  set_target_properties(kw_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  if(M_COLD)
    kw_cold(kw_${name})
  endif()
  if(M_TESTS)
    kw_add_test(${name} SRCS ${M_TESTS} DEPS kw::${name} ${M_TEST_DEPS} LABELS ${M_TEST_LABELS})
  endif()
endfunction()
