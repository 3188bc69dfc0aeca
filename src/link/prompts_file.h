// The file of `kernelwright generate --prompts`: a JSON object a line, each a request for answers.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "link/generate_request.h"

namespace kw::link {

struct FilePrompt {
  Json id;            // the line's "id"; null where it has none
  std::string where;  // "FILE:LINE", for errors
  GenerateRequest request;
};

// Lines of white space are passed over. Fields that a line lacks are those of `defaults`.
// kInvalidArgument begins with "FILE:LINE" and names the field; a file without a prompt is one too.
// kNotFound, or kResourceExhausted over 1 GiB, for the file. Free function.
Result<std::vector<FilePrompt>> read_prompts_file(const std::filesystem::path& path,
                                                  const GenerateRequest& defaults);

}  // namespace kw::link
