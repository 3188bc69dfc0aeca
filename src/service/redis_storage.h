// The rows of tasks in a Redis server, which several servers of ours share: one of them leads.
//
// Theory of operation: a server leads while the key `leader` exists, which ends by itself unless it
// is renewed. Whoever finds none takes it and writes its own unique name into `fence`. Each
// transaction is one Lua script that first compares `fence` with the writer's name: a server that
// was paused until another one led can write nothing any more, whatever it believes, and whatever
// the clocks say. A script is carried out whole or not at all, also over a crash of Redis, and the
// answer comes when it is on disk, by settings that are checked at each connection. A call whose
// answer was lost is repeated; transactions are numbered, so that none is carried out twice, or
// late.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "service/redis_connection.h"
#include "service/task_storage.h"

namespace kw::service {

struct RedisOptions {
  RedisAddress address = {};
  std::string password = {};                  // empty: none
  std::string url = {};                       // of this server, for those who ask another one
  std::chrono::milliseconds lease{10000};     // without a sign of life, until another server leads
  std::chrono::milliseconds patience{30000};  // with a Redis that cannot be reached
  std::chrono::milliseconds call_timeout{10000};  // of one call, which is then repeated
  bool accept_everysec = false;  // a loss of power may lose what a second has acknowledged
  std::stop_token stop = {};     // ends all patience
  // Another server leads: the storage writes nothing any more. Once, on any thread; commits fail
  // with kUnavailable then, as who asks again finds that server.
  std::function<void(const Error&)> on_lost = [](const Error&) {};
};

// The right to lead, or who has it.
struct RedisLead {
  std::unique_ptr<TaskStorage> storage = {};  // nullptr: another server leads
  std::string leader = {};                    // its URL
};

// Takes the lead if nobody has it; the storage's end gives it back. kUnsupported: Redis does not
// keep what it acknowledges (the message says which setting it must have), or is no single master
// of version 7 or later, or has rows of another schema, or this build has no Redis. kUnavailable:
// it cannot be reached.
Result<RedisLead> try_to_lead(const RedisOptions& options);

}  // namespace kw::service
