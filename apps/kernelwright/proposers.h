// The one place where solve's proposers are made.
#pragma once
#include <memory>
#include <string>

#include "base/result.h"
#include "options.h"
#include "search/proposer.h"
#include "services.h"

namespace kw::front {

// writer, model, both or recorded: as given, else by what --answers and --model say.
std::string proposer_kind(const SolveCommand& command);

// Starts what it takes (the engine loads its model here). The judge, which traces references for
// the writer, outlives the proposer. kInvalidArgument for options that do not go together,
// kNotFound for a model's folder that is none, kUnsupported for what this build lacks.
Result<std::unique_ptr<search::Proposer>> make_proposer(const SolveCommand& command,
                                                        const Services& services, Judge& judge);

}  // namespace kw::front
