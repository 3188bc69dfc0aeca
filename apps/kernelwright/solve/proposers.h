// The one place where solve's proposers are made.
#pragma once
#include <memory>
#include <string>

#include "base/result.h"
#include "kernelwright/cli/options.h"
#include "kernelwright/services.h"
#include "search/proposer.h"
#include "search/writer_proposer.h"

namespace kw::front {

// writer, model, both or recorded: as given, else by what --answers and --model say.
std::string proposer_kind(const SolveCommand& command);

// Starts what it takes (the engine loads its model here). trace: the references' operators, for the
// writer. spent: by the run so far, of a server's budget. kInvalidArgument for options that do not
// go together, kNotFound for a model's folder that is none, errors of a server that does not
// answer.
Result<std::unique_ptr<search::Proposer>> make_proposer(const SolveCommand& command,
                                                        const Services& services,
                                                        search::WriterProposer::Trace trace,
                                                        const text::Usage& spent);

}  // namespace kw::front
