// RemoteJudge: the workers of a service as a Judge.
#pragma once
#include <memory>

#include "gym/judge.h"
#include "sandbox/sandbox.h"
#include "service/service_client.h"

namespace kw::service {

// Every call is a task of the service: it is submitted once, survives restarts of the server and
// losses of workers, and waits. An error is what the service says of its infrastructure, or the
// worker of the problem, with that code. describe() needs no service for definitions.
// capabilities() are those of whichever worker answers.
// The server is asked once here: kUnavailable when it is not there, kUnsupported for another
// version of the gym, kInvalidArgument for a URL that is none. isolation: of the workers that
// judge, at least.
Result<std::unique_ptr<gym::Judge>> make_remote_judge(
    ServiceClientOptions options, sandbox::Level isolation = sandbox::Level::kNone);

}  // namespace kw::service
