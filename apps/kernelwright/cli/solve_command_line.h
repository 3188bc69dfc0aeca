// The grammar of kernelwright solve.
#pragma once
#include "kernelwright/cli/command_line_parts.h"

namespace kw::front {

// Lives as long as the CLI::App that it was added to.
class SolveGrammar {
 public:
  void add(CLI::App& app, const AddCommand& add);
  // Reads what CLI11 left as words.
  Status finish();

 private:
  void add_search();
  void add_stops();

  SolveCommand command_;
  EvalWords words_;
  std::string seed_ = "0";  // over 2^31
  double tokens_ = 0;
  CLI::App* app_ = nullptr;  // the command's, borrowed
};

}  // namespace kw::front
