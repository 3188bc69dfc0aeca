// kernelwright serve with a store that several servers share: what a server does until it leads.
#pragma once
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "kernelwright/cli/options.h"
#include "kernelwright/public_address.h"
#include "kernelwright/services.h"
#include "net/server.h"
#include "service/redis_storage.h"

namespace kw::front {

// kInvalidArgument for a store that is no Redis server, or one of another machine without
// --allow-plaintext-store.
Result<service::RedisOptions> redis_options(const ServeCommand& command, const Services& services);

// Listens as `server` says, which gets the port, and forwards each request to the server that
// leads, until this one does. Its health and its metrics are its own. nullptr when it was stopped
// before. A Redis that cannot be reached is waited for.
Result<std::unique_ptr<service::TaskStorage>> wait_for_lead(service::RedisOptions redis,
                                                            net::ServerOptions& server,
                                                            const PublicAddress& address,
                                                            const Services& services);

}  // namespace kw::front
