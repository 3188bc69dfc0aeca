// An executor's reply page, as the checker reads it: elements of a result that passes lie inside
// the arena, each in a place of its own, and are gathered in order.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <set>

#include "fuzz.h"
#include "gym/checker/reply.h"
#include "gym/correctness/returned.h"

namespace kw::fuzz {

namespace {

// What is not the executor's: declared dtype and shape, and how large the arena is.
struct Declared {
  std::uint8_t dtype, rank, as_reported, reserved;
  std::uint16_t arena_bytes;
  std::array<std::uint8_t, gym::kMaxRank> shape;
};
struct Input {
  Declared declared;
  std::array<std::byte, 40> page;  // the fields in front of the reports
  gym::OutputReport report;
};
constexpr std::int64_t kMaxElements = 4096;

task::Argument argument_of(const Input& input) {
  task::Argument out;
  out.name = "y";
  out.role = task::Role::kOutput;
  out.dtype = static_cast<tensor::DType>(input.declared.dtype % 13);
  for (std::size_t d = 0; d < input.declared.rank % (gym::kMaxRank + 1); ++d)
    out.shape.push_back(input.declared.shape.at(d));
  if ((input.declared.as_reported & 1) != 0 && input.report.rank <= gym::kMaxRank) {
    out.dtype = static_cast<tensor::DType>(input.report.dtype % 13);
    out.shape.assign(input.report.shape, input.report.shape + input.report.rank);
  }
  // As signature.h promises: no size overflows.
  std::int64_t elements = 1;
  for (std::int64_t size : out.shape) {
    if (size < 0 || size > kMaxElements ||
        elements * std::max<std::int64_t>(size, 1) > kMaxElements)
      return {};
    elements *= std::max<std::int64_t>(size, 1);
  }
  return out;
}

// Element by element, in row-major order.
std::vector<std::byte> slow_gather(const gym::OutputReport& report, std::size_t elements,
                                   std::span<const std::byte> arena) {
  std::size_t size = tensor::size_of(static_cast<tensor::DType>(report.dtype));
  std::vector<std::byte> out;
  std::set<std::size_t> places;
  for (std::size_t i = 0; i < elements; ++i) {
    std::size_t left = i, place = 0;
    for (std::uint32_t d = report.rank; d-- > 0;) {
      auto length = static_cast<std::size_t>(report.shape[d]);
      place += left % length * static_cast<std::size_t>(report.stride[d]);
      left /= length;
    }
    std::size_t from = report.offset + place * size;
    KW_CHECK(from + size <= arena.size());
    KW_CHECK(places.insert(from).second);
    out.insert(out.end(), arena.begin() + static_cast<std::ptrdiff_t>(from),
               arena.begin() + static_cast<std::ptrdiff_t>(from + size));
  }
  return out;
}

}  // namespace

KW_FUZZ(executor_page, text) {
  Input input{};
  std::memcpy(&input, text.data(), std::min(text.size(), sizeof input));
  auto page = std::make_unique<gym::ReplyPage>();
  std::memcpy(page.get(), input.page.data(), input.page.size());
  page->reports[3][1] = input.report;

  gym::launch_progress(page->done_seq, 5);
  if (auto style = gym::style_of(*page)) KW_CHECK(*style != gym::Style::kUnknown);
  KW_CHECK(gym::failure_of(*page) <= gym::Failure::kKernelTimeout);
  gym::OutputReport report = gym::report_of(*page, 3, 1);
  KW_CHECK(std::memcmp(&report, &input.report, sizeof report) == 0);

  std::vector<std::byte> arena(input.declared.arena_bytes);
  for (std::size_t i = 0; i < arena.size(); ++i) arena[i] = static_cast<std::byte>(i * 31 >> 3);
  task::Argument declared = argument_of(input);
  gym::ReturnedCheck check = gym::check_returned(report, declared, arena.size());
  KW_CHECK(check.message.empty() == (check.outcome == task::Outcome::kPassed));
  KW_CHECK(is_valid_utf8(check.message) && check.message.size() < 2000);
  if (check.outcome != task::Outcome::kPassed) return;
  std::vector<std::byte> copy;
  auto bytes = gym::returned_bytes(report, arena, declared.bytes(), copy);
  auto elements = static_cast<std::size_t>(declared.elements());
  std::vector<std::byte> expected = slow_gather(report, elements, arena);
  KW_CHECK(std::equal(bytes.begin(), bytes.end(), expected.begin(), expected.end()));
}

}  // namespace kw::fuzz
