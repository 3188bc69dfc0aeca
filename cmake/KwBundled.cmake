# The third-party parts of a bundle (tools/bundle) under the names that KwDependencies.cmake gives the system's packages:
# for machines that have torch and a compiler, and no packages. Only what the torch program may use; no Boost.
find_package(Threads REQUIRED)
set(include ${KW_THIRD_PARTY}/include)

# kw_bundled(TARGET HEADER DEFINITION...): a header-only library. As SYSTEM, these come before /usr/include.
function(kw_bundled target header)
  if(NOT EXISTS ${include}/${header})
    message(FATAL_ERROR "${include}/${header} is missing: KW_THIRD_PARTY is not a bundle's third_party/")
  endif()
  add_library(${target} INTERFACE IMPORTED)
  target_include_directories(${target} SYSTEM INTERFACE ${include})
  target_compile_definitions(${target} INTERFACE ${ARGN})
endfunction()
kw_bundled(kw::dep_fmt fmt/format.h)
kw_bundled(nlohmann_json::nlohmann_json nlohmann/json.hpp)
kw_bundled(tl::expected tl/expected.hpp)
kw_bundled(CLI11::CLI11 CLI/CLI.hpp)
kw_bundled(kw::dep_spdlog spdlog/spdlog.h SPDLOG_FMT_EXTERNAL)
kw_bundled(kw::dep_toml toml++/toml.h TOML_HEADER_ONLY=1 TOML_EXCEPTIONS=0)

add_library(OpenSSL::Crypto STATIC IMPORTED)
set_target_properties(OpenSSL::Crypto PROPERTIES IMPORTED_LOCATION ${KW_THIRD_PARTY}/lib/libcrypto.a)
target_include_directories(OpenSSL::Crypto SYSTEM INTERFACE ${include})
target_link_libraries(OpenSSL::Crypto INTERFACE Threads::Threads ${CMAKE_DL_LIBS})

add_library(kw::dep_pcre2 STATIC IMPORTED)
set_target_properties(kw::dep_pcre2 PROPERTIES IMPORTED_LOCATION ${KW_THIRD_PARTY}/lib/libpcre2-8.a)
target_include_directories(kw::dep_pcre2 SYSTEM INTERFACE ${include})
