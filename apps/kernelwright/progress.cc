// Drawing is throttled: ten times a second on a terminal, every five seconds elsewhere.
#include "kernelwright/progress.h"

#include <algorithm>

#include "base/text.h"

namespace kw::front {

std::string duration_text(std::chrono::seconds duration) {
  auto seconds = std::max<std::int64_t>(duration.count(), 0);
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
  return fmt::format("{}h{:02}m", seconds / 3600, seconds / 60 % 60);
}

void ProgressView::begin(std::size_t total, std::size_t already, std::size_t passed) {
  std::lock_guard lock(mutex_);
  total_ = total;
  already_ = done_ = already;
  passed_ = passed;
  begin_ = now_();
  draw(true);
}

void ProgressView::stage(const gym::EvalRequest& request, std::string_view stage) {
  doing(fmt::format("{} {}", printable(stage, 40), printable(request.candidate.name, 60)));
}

void ProgressView::doing(const std::string& what) {
  std::lock_guard lock(mutex_);
  doing_ = what;
  if (console_.err_terminal()) draw(false);
}

void ProgressView::judged(const task::Verdict& verdict) {
  counted(verdict.outcome == task::Outcome::kPassed);
}

void ProgressView::counted(bool good) {
  std::lock_guard lock(mutex_);
  ++done_;
  if (good) ++passed_;
  draw(done_ == total_);
}

void ProgressView::failed() {
  counted(false);
}

void ProgressView::clear() {
  std::lock_guard lock(mutex_);
  if (line_shown_) console_.err("\r\x1b[K");
  line_shown_ = false;
}

std::string ProgressView::status() const {
  std::string out = fmt::format("{}/{}", done_, total_);
  std::size_t fresh = done_ - already_;
  if (total_ > 1) out += fmt::format(", {} {}", passed_, good_);
  double seconds = std::chrono::duration<double>(now_() - begin_).count();
  if (fresh > 0 && seconds > 0 && total_ > 1) {
    double rate = static_cast<double>(fresh) / seconds;
    out += rate >= 1 ? fmt::format(", {:.1f}/s", rate) : fmt::format(", {:.1f}/min", 60 * rate);
    if (done_ < total_) {
      auto left = std::chrono::duration<double>(static_cast<double>(total_ - done_) / rate);
      out += fmt::format(", {} left", duration_text(std::chrono::ceil<std::chrono::seconds>(left)));
    }
  }
  return out;
}

void ProgressView::draw(bool at_once) {
  bool terminal = console_.err_terminal();
  if (total_ == 0 || (!terminal && total_ < 2)) return;
  Time now = now_();
  if (!at_once && ever_drawn_ && now - drawn_ < status_interval(console_)) return;
  drawn_ = now;
  ever_drawn_ = true;
  if (!terminal) return console_.err(status() + "\n");
  std::string text = status();
  if (!doing_.empty()) text += "  " + doing_;
  auto columns = static_cast<std::size_t>(std::max(console_.err_columns() - 1, 10));
  if (text.size() > columns) text = printable(text, columns - 3);  // adds "..."
  console_.err("\r\x1b[K" + text);
  line_shown_ = true;
}

}  // namespace kw::front
