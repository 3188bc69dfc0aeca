// Turns the messages of NVRTC, nvcc and ptxas into diagnostics on the candidate's lines.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "task/candidate.h"

namespace kw::gym {

enum class DiagnosticKind { kError, kWarning };

struct DeviceDiagnostic {
  DiagnosticKind kind = DiagnosticKind::kError;
  std::string file;          // of the build's, without folders; empty: of no file
  int line = 0, column = 0;  // from 1; 0: not known
  std::string message;       // one line or more
  std::string source;        // the line of the file; empty: not known
};

// In the log's order, each once. Errors of ptxas on the code that NVRTC made have no line of the
// candidate's: they get the line whose inline assembly has the quoted word, where there is just
// one.
std::vector<DeviceDiagnostic> read_device_log(std::string_view log,
                                              const std::vector<task::SourceFile>& files);

// The errors as feedback for the next turn, with source lines and a caret; warnings are left out.
// At most about 4 KiB of printable text. A log without a known error gives its end.
std::string device_diagnostics(std::string_view log, const std::vector<task::SourceFile>& files);

}  // namespace kw::gym
