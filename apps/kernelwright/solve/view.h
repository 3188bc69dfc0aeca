// Progress of a search on stderr: one status line on a terminal, plain lines elsewhere; a line for
// each problem that ends; and the files of its best kernel.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "kernelwright/console.h"
#include "search/solver.h"

namespace kw::front {

// One thread.
class SolveView : public search::Observer {
 public:
  using Now = std::function<std::chrono::steady_clock::time_point()>;

  SolveView(Console& console, Now now, const runlog::RunFolder& folder, search::Settings settings,
            std::vector<std::string> build_flags)
      : console_(console),
        now_(std::move(now)),
        folder_(folder),
        settings_(std::move(settings)),
        build_flags_(std::move(build_flags)) {}
  ~SolveView() override { clear(); }
  SolveView(const SolveView&) = delete;
  SolveView& operator=(const SolveView&) = delete;

  void happened(const runlog::Event& event, const runlog::Run& run) override;
  void waits(const runlog::Run& run) override;
  Status problem_ends(const search::SearchProblem& problem, const task::Signature* signature,
                      const runlog::ProblemTree& tree) override;
  void clear();  // before anything else is printed

 private:
  void draw(const runlog::Run& run, bool at_once);
  std::string status(const runlog::Run& run, std::size_t columns) const;
  void print_line(const std::string& text);

  Console& console_;
  Now now_;
  const runlog::RunFolder& folder_;
  const search::Settings settings_;
  std::vector<std::string> build_flags_;
  std::chrono::steady_clock::time_point begin_{}, drawn_{}, heard_{};  // heard: of the last event
  std::size_t finished_before_ = 0;  // attempts of earlier sessions
  bool begun_ = false, line_shown_ = false;
};

}  // namespace kw::front
