// Model servers of a launch: what starts one, and where it writes its address.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "kernelwright/cli/launch_options.h"

namespace kw::front {

// number: from 1 on.
std::filesystem::path model_address(const std::filesystem::path& folder, int number);

// These words follow the program's name and those of the network: model, grace and options.
// grace_seconds: for answers under way when it is asked to stop.
std::vector<std::string> model_words(const ModelServers& models, int grace_seconds);

}  // namespace kw::front
