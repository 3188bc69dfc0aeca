// Starts and stops what serves.
#include "net/server.h"

#include <future>
#include <mutex>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>

#include "base/check.h"
#include "net/listener.h"
#include "net/server_core.h"

namespace kw::net {

struct Server::Impl {
  Impl(ServerOptions options, Router router, TlsContext tls)
      : core(std::move(options), std::move(router), std::move(tls)),
        loops(make_loops(core)),
        listener(core, loops) {}

  static std::vector<std::unique_ptr<IoLoop>> make_loops(ServerCore& core) {
    std::vector<std::unique_ptr<IoLoop>> out;
    for (int i = 0; i < core.options.io_threads; ++i) out.push_back(std::make_unique<IoLoop>(core));
    return out;
  }

  bool stop(std::chrono::milliseconds grace) {
    core.draining = true;
    std::promise<void> closed;
    boost::asio::post(loops[0]->io, [&] {
      listener.close();
      closed.set_value();
    });
    closed.get_future().wait();
    bool all = core.running.wait_for_none(grace);
    for (auto& loop : loops) loop->stop();
    core.handlers.stop();
    return all;
  }

  ServerCore core;
  std::vector<std::unique_ptr<IoLoop>> loops;
  Listener listener;
  std::mutex stop_mutex;
  std::optional<bool> stopped;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() {
  stop(std::chrono::milliseconds(0));
}

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, Router router) {
  KW_CHECK(options.io_threads >= 1 && options.handler_threads >= 0);
  TlsContext tls;
  if (options.tls) {
    KW_TRY(tls, make_server_tls(options.tls->certificate, options.tls->key));
  } else if (options.tls_text) {
    KW_TRY(tls, make_server_tls(*options.tls_text, {"the certificate", "its key"}));
  }
  auto impl = std::make_unique<Impl>(std::move(options), std::move(router), std::move(tls));
  KW_TRY_STATUS(impl->listener.open());
  impl->listener.accept();
  for (auto& loop : impl->loops) loop->start();
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

std::uint16_t Server::port() const {
  return impl_->listener.endpoint().port();
}

std::string Server::origin() const {
  const auto& endpoint = impl_->listener.endpoint();
  std::string address = endpoint.address().to_string();
  return fmt::format("{}://{}{}{}:{}", impl_->core.tls() ? "https" : "http",
                     endpoint.address().is_v6() ? "[" : "", address,
                     endpoint.address().is_v6() ? "]" : "", endpoint.port());
}

Status Server::renew_tls() {
  const std::optional<TlsFiles>& files = impl_->core.options.tls;
  KW_CHECK(files.has_value());
  KW_TRY(TlsContext renewed, make_server_tls(files->certificate, files->key));
  impl_->core.renew_tls(std::move(renewed));
  return {};
}

bool Server::stop(std::chrono::milliseconds grace) {
  std::lock_guard lock(impl_->stop_mutex);
  std::optional<bool>& stopped = impl_->stopped;
  if (!stopped) stopped = impl_->stop(grace);
  return *stopped;
}

}  // namespace kw::net
