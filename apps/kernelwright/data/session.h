// The common part of the resumable commands of kernelwright data.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "base/result.h"
#include "data/output_pair.h"

namespace kw::front {

// OUT.log.jsonl where no other name is given. kAlreadyExists for one that is there without resume.
Result<std::filesystem::path> session_log(const std::string& given, const std::string& out,
                                          bool resume);

// --replace and --resume.
data::OutputPair::Existing existing(bool replace, bool resume = false);

Result<std::uint64_t> parse_seed(const std::string& word);  // of --seed

}  // namespace kw::front
