// What the resumable commands of kernelwright data share.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "data/files.h"

namespace kw::front {

// OUT.log.jsonl where no other name is given. kAlreadyExists for one that is there without resume.
Result<std::filesystem::path> session_log(const std::string& given, const std::string& out,
                                          bool resume);

// None for an empty name.
Result<std::optional<data::OutputFile>> optional_output(const std::string& path, bool replace);

Result<std::uint64_t> parse_seed(const std::string& word);  // of --seed

}  // namespace kw::front
