// Host scalars that a definition's own input function returns, as SOL-ExecBench's problems have.
#pragma once
#include <string>

#include "base/result.h"
#include "task/problem.h"

namespace kw::task {

// A host scalar is known before anything runs. So one whose source is custom gets the number that
// the reference's text has for it, as in `return {"eps": 1e-6}`; the oracle makes sure of it when
// it calls the function. kUnsupported names a scalar without such a number, or with several. where:
// the inputs' path in messages.
Status find_custom_scalars(Workload& workload, const Definition& definition,
                           const std::string& where);

}  // namespace kw::task
