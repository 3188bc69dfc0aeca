// Workers take the oldest job.
#include "net/handler_pool.h"

#include <exception>
#include <utility>

#include <fmt/core.h>

#include "base/log.h"

namespace kw::net {

HandlerPool::HandlerPool(int threads, std::size_t most_waiting)
    : most_waiting_(most_waiting), inline_(threads == 0) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { loop(); });
}

HandlerPool::~HandlerPool() {
  stop();
}

void HandlerPool::run(Job job) {
  std::string route = job.request.route;
  try {
    (*job.handler)(std::move(job.request), std::move(job.responder));
  } catch (const std::exception& e) {
    // Its Responder is destroyed by now, which answers 500.
    log::error(fmt::format("http: the handler of {} threw: {}", route, e.what()));
  } catch (...) {
    log::error(fmt::format("http: the handler of {} threw", route));
  }
}

bool HandlerPool::submit(Job& job) {
  if (inline_) {
    run(std::move(job));
    return true;
  }
  {
    std::lock_guard lock(mutex_);
    if (stopping_ || jobs_.size() >= most_waiting_) return false;
    jobs_.push_back(std::move(job));
  }
  change_.notify_one();
  return true;
}

void HandlerPool::loop() {
  for (;;) {
    std::unique_lock lock(mutex_);
    change_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    run(std::move(job));
  }
}

void HandlerPool::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  change_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  jobs_.clear();
}

}  // namespace kw::net
