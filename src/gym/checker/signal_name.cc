#include "gym/checker/signal_name.h"

#include <csignal>

namespace kw::gym {

std::string signal_name(int number) {
  switch (number) {
    case SIGSEGV:
      return "a segmentation fault";
    case SIGBUS:
      return "a bus error";
    case SIGABRT:
      return "abort()";
    case SIGFPE:
      return "an arithmetic fault (division by zero?)";
    case SIGILL:
      return "an illegal instruction";
    case SIGKILL:
      return "SIGKILL";
    case SIGSYS:
      return "a system call that the sandbox forbids";
    default:
      return "signal " + std::to_string(number);
  }
}

}  // namespace kw::gym
