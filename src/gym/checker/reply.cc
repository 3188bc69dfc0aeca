// The page is volatile: no field is loaded a second time after its check.
#include "gym/checker/reply.h"

namespace kw::gym {

std::optional<Style> style_of(const volatile ReplyPage& page) {
  switch (static_cast<Style>(page.style)) {
    case Style::kDestinationPassing:
      return Style::kDestinationPassing;
    case Style::kReturning:
      return Style::kReturning;
    case Style::kUnknown:
      break;
  }
  return std::nullopt;
}

Failure failure_of(const volatile ReplyPage& page) {
  std::uint32_t failure = page.failure;
  return failure <= static_cast<std::uint32_t>(Failure::kKernelTimeout)
             ? static_cast<Failure>(failure)
             : Failure::kNone;
}

OutputReport report_of(const volatile ReplyPage& page, std::uint32_t call, std::uint32_t output) {
  const volatile OutputReport& from = page.reports[call][output];
  OutputReport copy{};
  copy.offset = from.offset;
  copy.dtype = from.dtype;
  copy.rank = from.rank;
  for (std::uint32_t d = 0; d < kMaxRank; ++d) {
    copy.shape[d] = from.shape[d];
    copy.stride[d] = from.stride[d];
  }
  return copy;
}

}  // namespace kw::gym
