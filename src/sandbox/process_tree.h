// Finding, stopping and killing processes through /proc: for sandboxes without a cgroup freezer or
// a pid namespace.
#pragma once
#include <vector>

#include <sys/types.h>

namespace kw::sandbox {

// The processes meant: all of the caller's pid namespace, or all below the caller (a subreaper).
// Never the caller itself.
enum class Scope { kPidNamespace, kDescendants };
std::vector<pid_t> processes(Scope scope);

// Stops all of them, until two passes in a row found nothing running: one pass could miss a child
// that was born behind its back. False after about five seconds.
bool stop_all(Scope scope);
void continue_all(Scope scope);
// One pass: whether none of them can run.
bool all_stopped(Scope scope);
// Kills and reaps until none is left.
void kill_all(Scope scope);

}  // namespace kw::sandbox
