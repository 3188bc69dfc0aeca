// kernelwright-compiler: runs the C++ compiler over a candidate's sources inside a sandbox
// (docs/protocol.md, "Compiler").
#include <chrono>
#include <string>

#include <fcntl.h>

#include "build.h"
#include "os/fd.h"
#include "os/message.h"

namespace {

constexpr int kControl = 3;

kw::Status serve() {
  // The commands must not hold the supervisor's socket, or its end would go unnoticed.
  ::fcntl(kControl, F_SETFD, FD_CLOEXEC);
  KW_TRY(kw::os::Message message,
         kw::os::receive_message(kControl, std::chrono::milliseconds(60'000)));
  if (message.fds.size() != 2) {
    return kw::fail(kw::ErrorCode::kInvalidArgument, "expected the descriptors sources and output");
  }
  KW_TRY(kw::compiler::Request request, kw::compiler::read_request(message.body));
  return kw::compiler::build(request, message.fds[0].get(), message.fds[1].get());
}

}  // namespace

int main() {
  kw::Status done = serve();
  if (done) return 0;
  std::string text = "kernelwright-compiler: " + done.error().message() + "\n";
  std::ignore = kw::os::write_all(2, text);
  return 1;
}
