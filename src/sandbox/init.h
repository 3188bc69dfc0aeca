// The init of a sandbox: pid 1 of its pid namespace, trusted. Builds the box, waits until it is
// told what runs in it, forks the candidate, reports its exit, freezes by signals on request, and
// takes every process with it when it ends.
#pragma once
#include "sandbox/candidate.h"
#include "sandbox/mounts.h"
#include "sandbox/spawn.h"

namespace kw::sandbox {

// Commands on the command socket (one byte each way): the reply is the same byte when it is done.
inline constexpr char kCommandFreeze = 'F';
inline constexpr char kCommandThaw = 'T';
inline constexpr char kCommandLook = 'L';     // whether all are still stopped
inline constexpr char kCommandKill = 'K';     // no reply
inline constexpr char kCommandAlready = 'A';  // reply to kCommandFreeze: it was frozen before
inline constexpr char kCommandMoves = 'M';    // reply to kCommandLook: one is not
inline constexpr char kCommandFailed = '!';

// Runs as a fresh child of the host, with the box as current folder. All that needs no spawn
// request is done first; then it waits for one on the command socket, as a spare that holds nothing
// but its own sockets, the filters and the host's root, and ends with its host or its supervisor.
// Returns only in the candidate's process (a fork of this one), behind all walls. Failures are told
// on the status socket, and the process ends.
SpawnRequest run_init(const BoxTemplate& box, const HostWalls& walls, InitRequest init);

// Tells the supervisor why a step failed and ends the process.
[[noreturn]] void report_failure(int status, const StepError& error);
// Tells it that hostile code starts now, and closes the socket.
void report_started();

}  // namespace kw::sandbox
