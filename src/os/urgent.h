// UrgentScope: a thread that waits for something and must see it at once, however busy its core is.
#pragma once

#include "base/result.h"

namespace kw::os {

// For a process that gave up root and kept its capabilities (PR_SET_KEEPCAPS): drops them all, but
// with `urgent` the one for urgent threads, if it has that. Errors: those of capset.
Status drop_capabilities(bool urgent);

// While it lives, the calling thread runs ahead of all ordinary threads of its core, with the least
// real-time priority. Threads that it starts are ordinary. It does nothing where the process lacks
// CAP_SYS_NICE. Not for long work: ordinary threads of the core stand still.
class UrgentScope {
 public:
  UrgentScope();
  UrgentScope(const UrgentScope&) = delete;
  UrgentScope& operator=(const UrgentScope&) = delete;
  ~UrgentScope();

 private:
  int before_;  // the thread's policy
  bool is_urgent_;
};

}  // namespace kw::os
