#include "openai/testing/scripted_server.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"

namespace kw::openai::testing {
namespace {

constexpr int kTickMs = 5;

// False at the end of the stream.
bool receive(int fd, std::string& into) {
  std::string buffer(65536, '\0');
  const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
  if (got <= 0) return false;
  into.append(buffer.data(), static_cast<std::size_t>(got));
  return true;
}

// Whether a whole request came.
bool read_request(int fd, Received& out) {
  std::string text;
  std::size_t end = std::string::npos;
  while ((end = text.find("\r\n\r\n")) == std::string::npos)
    if (!receive(fd, text)) return false;
  out.head = text.substr(0, end + 2);
  const std::string field = "Content-Length: ";
  const std::size_t at = out.head.find(field);
  const std::size_t length =
      at == std::string::npos ? 0 : std::stoul(out.head.substr(at + field.size()));
  out.body = text.substr(end + 4);
  while (out.body.size() < length)
    if (!receive(fd, out.body)) return false;
  return true;
}

void send_all(int fd, const std::string& bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = ::send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return;
    sent += static_cast<std::size_t>(n);
  }
}

bool readable(int fd, int within_ms) {
  pollfd poller{fd, POLLIN, 0};
  return ::poll(&poller, 1, within_ms) > 0;
}

}  // namespace

ScriptedServer::ScriptedServer(Script script) : script_(std::move(script)) {
  listener_ = os::UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  KW_CHECK(listener_.get() >= 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  KW_CHECK(::bind(listener_.get(), any, size) == 0 && ::listen(listener_.get(), 512) == 0);
  KW_CHECK(::getsockname(listener_.get(), any, &size) == 0);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::jthread([this] { listen(); });
}

ScriptedServer::ScriptedServer(std::vector<Act> acts)
    : ScriptedServer([acts = std::move(acts)](const Received& request) {
        return acts[std::min(static_cast<std::size_t>(request.number), acts.size() - 1)];
      }) {}

ScriptedServer::~ScriptedServer() {
  stopping_ = true;
  acceptor_.join();
}

std::string ScriptedServer::url() const {
  return "http://127.0.0.1:" + std::to_string(port_);
}

std::vector<Received> ScriptedServer::received() const {
  std::lock_guard lock(mutex_);
  return received_;
}

void ScriptedServer::release() {
  released_ = true;
}

void ScriptedServer::listen() {
  while (!stopping_) {
    if (!readable(listener_.get(), kTickMs)) continue;
    os::UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.get() < 0) continue;
    connections_.emplace_back([this, fd = std::make_shared<os::UniqueFd>(std::move(connection))] {
      serve(std::move(*fd));
    });
  }
}

void ScriptedServer::serve(os::UniqueFd connection) {
  const int fd = connection.get();
  while (!readable(fd, kTickMs))
    if (stopping_) return;
  Received request;
  if (!read_request(fd, request)) return;
  request.number = requests_++;
  {
    std::lock_guard lock(mutex_);
    received_.push_back(request);
  }
  const Act act = script_(request);
  send_all(fd, act.bytes);
  if (act.hang) {
    while (!stopping_ && !released_ && !readable(fd, kTickMs)) {
    }
    send_all(fd, act.after_hang);
  }
  if (act.reset) {
    const linger now{1, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  }
}

std::string http(int status, const std::string& body, const std::string& type,
                 const std::string& fields) {
  return "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: " + type + "\r\n" + fields +
         "Connection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string chat_json(const std::string& text, const std::string& finish) {
  Json choice = {{"index", 0},
                 {"message", {{"role", "assistant"}, {"content", text}}},
                 {"finish_reason", finish}};
  return Json{{"id", "chatcmpl-1"},
              {"object", "chat.completion"},
              {"model", "fake"},
              {"choices", Json::array({std::move(choice)})},
              {"usage", {{"prompt_tokens", 10}, {"completion_tokens", 5}, {"total_tokens", 15}}}}
      .dump();
}

std::string answer(const std::string& text, const std::string& finish) {
  return http(200, chat_json(text, finish));
}

std::string stream_head() {
  return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
         "Connection: close\r\n\r\n";
}

std::string event(const std::string& data) {
  return "data: " + data + "\n\n";
}

std::string chunk(const std::string& text, const std::string& finish, int index) {
  Json choice = {{"index", index}, {"delta", {{"content", text}}}};
  choice["finish_reason"] = finish.empty() ? Json(nullptr) : Json(finish);
  return event(Json{{"id", "chatcmpl-2"},
                    {"object", "chat.completion.chunk"},
                    {"model", "fake"},
                    {"choices", Json::array({std::move(choice)})}}
                   .dump());
}

std::string usage_chunk(int prompt, int completion) {
  return event(Json{{"id", "chatcmpl-2"},
                    {"choices", Json::array()},
                    {"usage", {{"prompt_tokens", prompt}, {"completion_tokens", completion}}}}
                   .dump());
}

std::string streamed(const std::vector<std::string>& texts) {
  std::string out = stream_head();
  for (const std::string& text : texts) out += chunk(text);
  return out + chunk("", "stop") + usage_chunk(10, 5) + event("[DONE]");
}

}  // namespace kw::openai::testing
