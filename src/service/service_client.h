// ServiceClient: calls of the API of kernelwright serve, with patience for a server that restarts.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "net/client.h"

namespace kw::service {

struct ServiceClientOptions {
  // It is the server's, without a path; or it is the path of the server's address file
  // (is_address_file()), which calls follow to where the server is.
  std::string url = {};
  std::string token = {};              // empty: none
  std::string ca_file = {};            // as of net::ClientOptions
  bool allow_plaintext = false;        // send the token over http to another machine
  std::chrono::seconds patience{600};  // with a server that cannot be reached or is full
  // A call is tried again. From any thread.
  std::function<void(const Error&)> on_retry = [](const Error&) {};
};

// The value of KERNELWRIGHT_API_KEY; empty without one. A flag could be seen in the list of
// processes.
std::string token_of_environment();

class ServiceClient;
struct WorkParts;
// Makes the problem and the baseline known to the server, so that requests can name them by their
// hashes. Parts that are references are not sent.
Status send_parts(ServiceClient& client, const WorkParts& parts, const std::stop_token& stop);

// A name for a submission or a lease that no other call has: 32 hexadecimal digits. The same name
// at every try keeps what is asked for from being done twice.
std::string unique_name();

// Thread-safe.
class ServiceClient {
 public:
  // kInvalidArgument for a URL that is none, a bad ca_file, and a token that would be sent over
  // http to another machine. An address file is read by the calls: while there is none, the server
  // cannot be reached.
  static Result<std::unique_ptr<ServiceClient>> make(ServiceClientOptions options);

  // One call; body: nullptr for none. An error of the server's has its code and message, those of
  // the way there are net::Client's. most: how long it may take; nullopt: net::ClientTimeouts.
  Result<Json> call(const std::string& method, const std::string& path, const Json& body,
                    const std::stop_token& stop,
                    std::optional<std::chrono::milliseconds> most = std::nullopt);
  // The same, repeated while the server cannot be reached or is full, until the patience ends, and
  // not before the server's Retry-After. Only for calls that may be carried out twice.
  Result<Json> call_patiently(const std::string& method, const std::string& path, const Json& body,
                              const std::stop_token& stop);
  // Or the path of the address file.
  const std::string& url() const { return options_.url; }

 private:
  // A server as it was last found.
  struct Reached {
    std::string address;  // the text of the file; empty without one
    std::string origin;
    std::unique_ptr<net::Client> client;
  };
  using ReachedPtr = std::shared_ptr<const Reached>;

  explicit ServiceClient(ServiceClientOptions options);
  Result<ReachedPtr> reach_url();
  Result<ReachedPtr> reach_file(const std::string& address);
  Result<ReachedPtr> connect(const std::string& url, const std::string& certificate,
                             const std::string& address);
  Result<ReachedPtr> reach();
  bool has_moved(const ReachedPtr& from);
  // retry_after: becomes what the answer asks for.
  Result<Json> call_once(const std::string& method, const std::string& path, const Json& body,
                         const std::stop_token& stop, std::optional<std::chrono::milliseconds> most,
                         std::optional<std::chrono::seconds>& retry_after);
  Result<Json> call_at(const Reached& server, net::ClientRequest request, const Json& body,
                       std::optional<std::chrono::seconds>& retry_after) const;

  ServiceClientOptions options_;
  bool follows_;  // an address file
  std::mutex mutex_;
  ReachedPtr reached_;  // guarded by mutex_; nullptr: not yet
};

}  // namespace kw::service
