// The host for the Python zygote: the same code as kernelwright-launcher's, called through ctypes
// (python/zygote.py).
#include <cstdio>

#include <unistd.h>

#include "sandbox/host.h"
#include "sandbox/init.h"

namespace {

// Never freed: a candidate's process must not close descriptors by numbers that mean something else
// there.
kw::sandbox::Host* the_host = nullptr;

}  // namespace

extern "C" {

// Receives the supervisor's configuration and builds the shared part of the sandboxes. `folders`
// (NULL at the end) are bound read-only at their own place. Before any thread exists. 0, or -1 with
// the reason on stderr.
int kw_sandbox_prepare(int socket, const char* const* folders) {
  std::vector<kw::sandbox::Bind> binds;
  for (; *folders != nullptr; ++folders) binds.push_back({*folders, *folders, true});
  auto host = kw::sandbox::Host::make(kw::os::UniqueFd(socket), std::move(binds));
  if (!host) {
    std::fprintf(stderr, "%s\n", host.error().message().c_str());
    return -1;
  }
  the_host = host->release();
  return 0;
}

// Forks sandboxes until the supervisor is gone: then NULL. In a candidate's process: {"role",
// "environment": [[name, value]...]} as JSON, behind all walls, with the interpreter told by the
// hooks.
const char* kw_sandbox_serve(void (*before)(), void (*after_in_parent)(),
                             void (*after_in_child)()) {
  auto request = the_host->serve({before, after_in_parent, after_in_child});
  if (!request) return nullptr;
  kw::sandbox::report_started();
  ::close(kw::sandbox::kStatusFd);
  kw::Json answer = {{"role", request->role},
                     {"environment", kw::sandbox::sandbox_environment(*request)}};
  static std::string text;
  text = answer.dump(-1, ' ', false, kw::Json::error_handler_t::replace);
  return text.c_str();
}
}
