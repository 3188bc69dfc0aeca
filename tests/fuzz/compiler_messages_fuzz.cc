// A compiler's log as feedback: bounded, printable, without folders of the machine.
#include "fuzz.h"
#include "gym/compile/device_diagnostics.h"
#include "gym/compile/plan.h"

namespace kw::fuzz {

KW_FUZZ(compiler_messages, text) {
  std::string shown = gym::compiler_diagnostics(text);
  KW_CHECK(shown.size() <= 4096 + 200);
  KW_CHECK(printable(shown, shown.size()) == shown);
  std::string error =
      gym::compiler_diagnostics("/usr/secret/a.cpp:1:2: error: " + std::string(text));
  KW_CHECK(error.find("/secret/") == std::string::npos ||
           text.find("/secret/") != std::string_view::npos);
  const std::vector<task::SourceFile> files = {{"main.cu", std::string(text)}};
  shown = gym::device_diagnostics(text, files);
  KW_CHECK(shown.size() <= 2 * 4096 + 200);
  KW_CHECK(printable(shown, shown.size()) == shown);
  for (const gym::DeviceDiagnostic& one : gym::read_device_log(text, files))
    KW_CHECK(one.line >= 0 && one.column >= 0);
}

}  // namespace kw::fuzz
