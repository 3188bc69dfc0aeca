// Private: the threads that handlers run on, behind a bounded queue.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "net/router.h"

namespace kw::net {

// Never moved while handlers run; thread-safe.
class HandlerPool {
 public:
  struct Job {
    const Handler* handler = nullptr;
    Request request;
    Responder responder;
  };

  // threads 0: submit() runs the job itself.
  HandlerPool(int threads, std::size_t most_waiting);
  ~HandlerPool();
  HandlerPool(const HandlerPool&) = delete;
  HandlerPool& operator=(const HandlerPool&) = delete;

  // False, and the job untouched, when the queue is full.
  bool submit(Job& job);
  // Drops what waits and joins the threads.
  void stop();

 private:
  static void run(Job job);
  void loop();

  const std::size_t most_waiting_;
  const bool inline_;
  std::mutex mutex_;
  std::condition_variable change_;
  std::deque<Job> jobs_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace kw::net
