// kernelwright generate with a server's URL as its model: the chats go there
// (docs/openai_client.md).
#pragma once
#include <cstdint>
#include <string>

#include "kernelwright/cli/options.h"
#include "kernelwright/services.h"

namespace kw::front {

// Answers are printed in the order of the prompts. With --prompts a request that fails is a line
// with "error", the others go on, and the exit code is 2.
Result<int> run_remote_generate(const GenerateCommand& command, std::uint64_t seed,
                                const Services& services);

}  // namespace kw::front
