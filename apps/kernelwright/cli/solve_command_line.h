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
  SolveCommand command_;
  EvalWords words_;
  CLI::App* app_ = nullptr;  // the command's, borrowed
};

}  // namespace kw::front
