// Progress on stderr: one status line with count, rate and time left on a terminal, a plain line
// now and then elsewhere.
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>

#include "gym/gym.h"
#include "kernelwright/console.h"

namespace kw::front {

// Any thread may call. Nothing is drawn for less than two evaluations without a terminal.
class ProgressView : public gym::Progress {
 public:
  using Now = std::function<std::chrono::steady_clock::time_point()>;

  // good: what one that counts as such is called.
  ProgressView(Console& console, Now now, std::string good = "passed")
      : console_(console), now_(std::move(now)), good_(std::move(good)) {}
  ~ProgressView() override { clear(); }
  ProgressView(const ProgressView&) = delete;
  ProgressView& operator=(const ProgressView&) = delete;

  // The rate counts from here. `already` were judged in an earlier run, `passed` of them passed:
  // they count as done, not for the rate.
  void begin(std::size_t total, std::size_t already, std::size_t passed);
  void stage(const gym::EvalRequest& request, std::string_view stage) override;
  void doing(const std::string& what);  // for the status line
  void judged(const task::Verdict& verdict);
  void counted(bool good);  // one is done
  void failed();            // one evaluation gave no verdict
  void clear();             // before anything else is printed

 private:
  using Time = std::chrono::steady_clock::time_point;
  void draw(bool at_once);
  std::string status() const;

  Console& console_;
  Now now_;
  std::string good_;
  std::mutex mutex_;
  Time begin_{}, drawn_{};
  std::size_t total_ = 0, already_ = 0, done_ = 0, passed_ = 0;
  std::string doing_;
  bool line_shown_ = false, ever_drawn_ = false;
};

// "45s", "3m20s", "2h05m"
std::string duration_text(std::chrono::seconds duration);

}  // namespace kw::front
