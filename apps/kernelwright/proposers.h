// The one place where solve's proposers are made.
#pragma once
#include <memory>
#include <string>

#include "base/result.h"
#include "options.h"
#include "search/proposer.h"
#include "services.h"
#include "writer_proposer.h"

namespace kw::front {

// writer, model, both or recorded: as given, else by what --answers and --model say.
std::string proposer_kind(const SolveCommand& command);

// Starts what it takes (the engine loads its model here). trace: the references' operators, for the
// writer. kInvalidArgument for options that do not go together, kNotFound for a model's folder that
// is none, errors of a server that does not answer.
Result<std::unique_ptr<search::Proposer>> make_proposer(const SolveCommand& command,
                                                        const Services& services,
                                                        WriterProposer::Trace trace);

}  // namespace kw::front
