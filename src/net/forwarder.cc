// The io thread, and the server that calls go to.
#include "net/forwarder.h"

#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include "base/log.h"
#include "net/forwarded_call.h"
#include "net/forwarded_request.h"
#include "net/replies.h"

namespace kw::net {
namespace {

namespace asio = boost::asio;

Counter& outcome(MetricRegistry& metrics, const char* name) {
  return metrics.counter("kw_forwarded_calls_total",
                         "Calls that were handed on to the server that leads, by their end.",
                         {{"outcome", name}});
}

}  // namespace

struct Forwarder::Impl {
  explicit Impl(const ForwarderOptions& options)
      : metrics(options.metrics == nullptr ? own_metrics : *options.metrics),
        core{.connect_timeout = options.connect_timeout,
             .answered = outcome(metrics, "answered"),
             .refused = outcome(metrics, "refused"),
             .broken = outcome(metrics, "broken"),
             .left = outcome(metrics, "left")},
        work(core.io.get_executor()),
        thread([this] { run(); }) {}
  ~Impl() {
    work.reset();
    thread.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void run() {
    for (bool ended = false; !ended;) {
      try {
        core.io.run();
        ended = true;
      } catch (const std::exception& e) {
        // Out of memory: that call ends when its client leaves.
        log::error(fmt::format("http: forwarding caught: {}", e.what()));
      }
    }
  }

  // All below: the io thread's.
  void aim(std::shared_ptr<ForwardTarget> at, const std::string& reason) {
    const bool is_same = target && at && target->origin.origin() == at->origin.origin();
    target = std::move(at);
    why = reason;
    if (is_same) return;
    const std::string told = target ? target->origin.origin() + " leads now" : reason;
    for (const auto& call : std::vector(core.calls.begin(), core.calls.end()))
      call->give_up(fmt::format("{}; the request may have been carried out", told));
  }

  void forward(const Request& request, Responder responder, ForwardedCall::Adapt adapt) {
    std::string refusal;
    if (!target) {
      refusal = why;
    } else if (was_forwarded(request)) {
      refusal = fmt::format(
          "another server has forwarded this request, and this one does not lead either: it waits "
          "for {}",
          target->origin.origin());
    }
    if (!refusal.empty()) {
      Response response = retry_later(kForwardRetryAfter, refusal, 503);
      adapt(response);
      core.refused.add();
      return responder.send(std::move(response));
    }
    std::make_shared<ForwardedCall>(core, target, request, std::move(responder), std::move(adapt))
        ->start();
  }

  MetricRegistry own_metrics;  // when the user has none
  MetricRegistry& metrics;
  ForwarderCore core;
  std::shared_ptr<ForwardTarget> target = nullptr;
  std::string why = "no server leads yet";
  asio::executor_work_guard<asio::io_context::executor_type> work;
  std::thread thread;
};

Forwarder::Forwarder(ForwarderOptions options) : impl_(std::make_unique<Impl>(options)) {}

Forwarder::~Forwarder() {
  forward_nowhere("this server ends");
}

Status Forwarder::forward_to(const std::string& url, const std::string& certificate) {
  KW_TRY(Url origin, parse_url(url));
  const bool has_path = origin.target.size() > 1;
  if (has_path) return fail(ErrorCode::kInvalidArgument, "the URL of a server has no path");
  TlsContext tls;
  if (origin.scheme == "https" && !certificate.empty()) {
    KW_TRY(tls, make_client_tls_of(certificate));
  } else if (origin.scheme == "https") {
    KW_TRY(tls, make_client_tls({}));
  }
  asio::post(impl_->core.io, [impl = impl_.get(), target = std::make_shared<ForwardTarget>(
                                                      std::move(origin), std::move(tls))] {
    impl->aim(target, "");
  });
  return {};
}

void Forwarder::forward_nowhere(const std::string& why) {
  asio::post(impl_->core.io, [impl = impl_.get(), why] { impl->aim(nullptr, why); });
}

void Forwarder::forward(Request request, Responder responder) {
  forward(std::move(request), std::move(responder), [](Response& /*as it is*/) {});
}

void Forwarder::forward(Request request, Responder responder,
                        std::function<void(Response&)> adapt) {
  asio::post(impl_->core.io,
             [impl = impl_.get(), request = std::move(request), responder = std::move(responder),
              adapt = std::move(adapt)]() mutable {
               impl->forward(request, std::move(responder), std::move(adapt));
             });
}

}  // namespace kw::net
