// One build inside the compiler's sandbox: files in, commands, artefact out.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "gym/protocol.h"

namespace kw::compiler {

// The supervisor's request (docs/protocol.md, "Compiler"), without its descriptors.
struct Request {
  struct File {
    std::string path;
    std::size_t size = 0;
  };
  std::vector<File> files;
  std::vector<std::vector<std::string>> commands;
  std::string artifact;
  std::uint64_t artifact_limit = 0;
};
Result<Request> read_request(const Json& body);

// Works in the current folder, which must be this process's own: writes the files out of `sources`
// (their bytes one after the other), runs the commands, copies the artefact behind the header into
// `output`. The header's magic is written last; without it there is no answer. Errors are requests
// that no supervisor of ours sends.
Status build(const Request& request, int sources, int output);

}  // namespace kw::compiler
