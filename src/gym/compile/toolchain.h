// Toolchain: the C++ compiler of cpp candidates, with what identifies it and the target's flags
// made explicit.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace kw::gym {

// A value; equal toolchains build equal bytes from equal sources.
struct Toolchain {
  std::string compiler;                 // absolute path of g++
  std::string version;                  // "gcc version 12.2.0 (Debian 12.2.0-14+deb12u1)"
  std::string arch;                     // "znver3": what -march=native means here
  std::vector<std::string> arch_flags;  // -march=znver3 -mavx2 ... --param l1-cache-size=32 ...
  std::string identity;  // SHA-256 over version, target, and size and time of cc1plus, as, ld and
                         // the C library's headers
};

// Asks the compiler once (a few milliseconds, nothing is compiled). `compiler` empty: g++ of
// /usr/bin or /usr/local/bin, never one found by PATH, where a compiler cache may stand in for it.
// kUnsupported without a compiler or for an `arch` that it does not know.
Result<Toolchain> resolve_toolchain(const std::string& compiler = "",
                                    const std::string& arch = "native");

// The compiler's own command line out of what `g++ -v -###` printed; a function of its own for
// tests.
Result<Toolchain> parse_driver_output(const std::string& text);

}  // namespace kw::gym
