// getaddrinfo on a thread of its own.
#include "net/name_resolver.h"

#include <memory>
#include <utility>

#include <boost/asio/ip/address.hpp>
#include <netdb.h>

namespace kw::net {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

Result<NameResolver::Endpoints> NameResolver::look_up(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  int failed = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  if (failed != 0)
    return fail(ErrorCode::kUnavailable, "cannot find the host: {}", ::gai_strerror(failed));
  Endpoints out;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    tcp::endpoint endpoint;
    if (at->ai_addrlen > endpoint.capacity()) continue;
    endpoint.resize(at->ai_addrlen);
    std::copy_n(reinterpret_cast<const char*>(at->ai_addr), at->ai_addrlen,
                reinterpret_cast<char*>(endpoint.data()));
    endpoint.port(port);
    out.push_back(endpoint);
  }
  if (out.empty()) return fail(ErrorCode::kUnavailable, "the host has no address");
  return out;
}

void NameResolver::loop(const std::stop_token& stop) {
  for (;;) {
    std::unique_lock lock(mutex_);
    if (!change_.wait(lock, stop, [&] { return !waiting_.empty(); })) return;
    std::shared_ptr<Lookup> lookup = waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    auto result = look_up(lookup->host, lookup->port);
    lock.lock();
    lookup->result = std::move(result);
    change_.notify_all();
  }
}

Result<NameResolver::Endpoints> NameResolver::resolve(const std::string& host, std::uint16_t port,
                                                      Clock::time_point deadline,
                                                      const std::stop_token& stop) {
  boost::system::error_code not_an_address;
  asio::ip::address address = asio::ip::make_address(host, not_an_address);
  if (!not_an_address) return Endpoints{tcp::endpoint(address, port)};
  auto lookup = std::make_shared<Lookup>();
  lookup->host = host;
  lookup->port = port;
  std::unique_lock lock(mutex_);
  if (!thread_.joinable())
    thread_ = std::jthread([this](const std::stop_token& token) { loop(token); });
  waiting_.push_back(lookup);
  change_.notify_all();
  change_.wait_until(lock, stop, deadline, [&] { return lookup->result.has_value(); });
  if (auto& result = lookup->result; result) return std::move(*result);
  std::erase(waiting_, lookup);
  if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled");
  return fail(ErrorCode::kDeadlineExceeded, "the name was not found in time");
}

}  // namespace kw::net
