// AnswerSummary: what an answer says, in a line of a list.
#pragma once
#include <string>

namespace kw::service {

// Texts are printable and short.
struct AnswerSummary {
  std::string outcome = {};  // a verdict's, or the key of another answer: "check"
  // Empty, and 0, unless the answer is a verdict.
  std::string problem = {}, candidate = {}, language = {}, target = {};
  double speedup = 0;  // median; 0: none
};

}  // namespace kw::service
