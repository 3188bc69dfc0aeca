// Private: accepts connections and hands them to the io threads in turn.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/result.h"
#include "net/server_core.h"

namespace kw::net {

// Lives on the first of `loops`; open() before they start.
class Listener {
 public:
  Listener(ServerCore& core, std::vector<std::unique_ptr<IoLoop>>& loops);

  Status open();
  void accept();  // begins; goes on by itself
  void close();   // on the first loop's thread
  const boost::asio::ip::tcp::endpoint& endpoint() const { return endpoint_; }

 private:
  void admit(IoLoop& loop, boost::asio::ip::tcp::socket socket);

  ServerCore& core_;
  std::vector<std::unique_ptr<IoLoop>>& loops_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer pause_;
  boost::asio::ip::tcp::endpoint endpoint_;
  std::size_t next_ = 0;
};

}  // namespace kw::net
