// kernelwright-compiler [warm]: runs a compiler over a candidate's sources inside a sandbox
// (docs/protocol.md, "Compiler"). With "warm" it loads NVRTC first, and waits long for its request.
#include <chrono>
#include <string>
#include <string_view>

#include <fcntl.h>

#include "build.h"
#include "nvrtc.h"
#include "os/fd.h"
#include "os/message.h"

namespace {

constexpr int kControl = 3;

kw::Status serve(bool warm) {
  // The commands must not hold the supervisor's socket, or its end would go unnoticed.
  ::fcntl(kControl, F_SETFD, FD_CLOEXEC);
  if (warm) kw::compiler::warm_nvrtc();
  KW_TRY(
      kw::os::Message message,
      kw::os::receive_message(kControl, warm ? std::chrono::hours(24) : std::chrono::minutes(1)));
  if (message.fds.size() != 2) {
    return kw::fail(kw::ErrorCode::kInvalidArgument, "expected the descriptors sources and output");
  }
  KW_TRY(kw::compiler::Request request, kw::compiler::read_request(message.body));
  return kw::compiler::build(request, message.fds[0].get(), message.fds[1].get());
}

}  // namespace

int main(int count, char** words) {
  kw::Status done = serve(count > 1 && std::string_view(words[1]) == "warm");
  if (done) return 0;
  std::string text = "kernelwright-compiler: " + done.error().message() + "\n";
  std::ignore = kw::os::write_all(2, text);
  return 1;
}
