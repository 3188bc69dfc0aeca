// libFuzzer's entry points. The program's name says which harness runs: json_fuzz is a link to it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "fuzz.h"

namespace {

void (*run)(std::string_view text) = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerInitialize(int* /*count*/, char*** arguments) {
  std::string_view program = (*arguments)[0];
  program.remove_prefix(program.rfind('/') + 1);
  for (const kw::fuzz::Harness& harness : kw::fuzz::harnesses()) {
    if (program == harness.name + "_fuzz") run = harness.run;
  }
  if (run == nullptr) {
    std::fprintf(stderr, "call it by one of its links: json_fuzz, ...\n");
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  run({reinterpret_cast<const char*>(data), size});
  return 0;
}
