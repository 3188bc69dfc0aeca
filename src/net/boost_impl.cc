// Boost.Asio and Boost.Beast, compiled once (their "separate compilation"): the other files of this
// folder see declarations only.
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
