// Names of progress, and outcomes in its order.
#include "task/progress.h"

#include "text/enum_names.h"

namespace kw::task {
namespace {

constexpr auto kProgressNames = text::enum_names<Progress>({{Progress::kNothing, "nothing"},
                                                            {Progress::kExtracted, "extracted"},
                                                            {Progress::kCompiled, "compiled"},
                                                            {Progress::kRan, "ran"},
                                                            {Progress::kRightShape, "right_shape"},
                                                            {Progress::kCorrect, "correct"}});

}  // namespace

std::string_view to_string(Progress progress) {
  return kProgressNames.name(progress);
}
std::optional<Progress> progress_from_string(std::string_view name) {
  return kProgressNames.value(name);
}

Progress progress_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPassed:
    case Outcome::kNoisy:
      return Progress::kCorrect;
    case Outcome::kWrongValue:
      return Progress::kRightShape;
    case Outcome::kWrongShape:
    case Outcome::kWrongDtype:
      return Progress::kRan;
    case Outcome::kRuntimeError:
    case Outcome::kTimeout:
    case Outcome::kMemoryLimit:
    case Outcome::kOutputLimit:
    case Outcome::kViolation:
      return Progress::kCompiled;
    case Outcome::kCompileError:
    case Outcome::kQuarantined:
    case Outcome::kUnsupported:
      return Progress::kExtracted;
  }
  return Progress::kExtracted;
}

Progress progress_of(const Verdict& verdict) {
  return is_borderline(verdict) ? progress_of(Outcome::kWrongValue) : progress_of(verdict.outcome);
}

}  // namespace kw::task
