// kernelwright-launcher: forks native sandboxes for the supervisor that started it. Talks over
// descriptor 3 only; not for people.
#include <cstdio>
#include <cstring>

#include <unistd.h>

#include "sandbox/candidate.h"
#include "sandbox/cgroup.h"
#include "sandbox/host.h"
#include "sandbox/init.h"

namespace {

constexpr int kSocketFd = 3;

int serve() {
  auto host = kw::sandbox::Host::make(kw::os::UniqueFd(kSocketFd), {});
  if (!host) {
    std::fprintf(stderr, "%s\n", host.error().message().c_str());
    return 2;
  }
  if (auto request = (*host)->serve({})) {
    kw::sandbox::report_started();
    kw::sandbox::StepError error = kw::sandbox::execute(*request);
    kw::sandbox::report_failure(kw::sandbox::kStatusFd, error);
  }
  kw::sandbox::CgroupFiles files;
  kw::sandbox::remove_group_trees(files, (*host)->group_folders());
  (*host)->await_children();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  // Run inside a sandbox by the supervisor's self-test: that it ran is the answer.
  if (argc == 2 && std::strcmp(argv[1], "--self-test") == 0) return 0;
  if (argc != 1) {
    std::fprintf(
        stderr,
        "kernelwright-launcher is started by kernelwright itself and takes no arguments.\n");
    return 2;
  }
  return serve();
}
