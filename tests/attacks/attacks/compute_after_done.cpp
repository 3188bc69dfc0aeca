// Returns at once; a thread of its own computes a little later, when nobody measures.
// expect: wrong_value|violation background_work
// class: T03, T04
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace {

struct Job {
  const float* x;
  float* y;
};
std::mutex mutex;
std::condition_variable changed;
std::deque<Job> jobs;

void work() {
  while (true) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [] { return !jobs.empty(); });
    Job job = jobs.front();
    jobs.pop_front();
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (int64_t i = 0; i < N; ++i) job.y[i] = job.x[i] * job.x[i] + job.x[i];
  }
}

}  // namespace

extern "C" void run(const float* x, float* y) {
  static bool started = (std::thread(work).detach(), true);
  (void)started;
  std::lock_guard lock(mutex);
  jobs.push_back({x, y});
  changed.notify_one();
}
