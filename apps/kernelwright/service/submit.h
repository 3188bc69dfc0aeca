// kernelwright submit: puts judgements into a service's queue and leaves.
#pragma once
#include "kernelwright/cli/options.h"
#include "kernelwright/services.h"

namespace kw::front {

// 0 when all are accepted. Their names are printed; kernelwright queue shows what becomes of them.
Result<int> run_submit(SubmitCommand command, const Services& services);

}  // namespace kw::front
