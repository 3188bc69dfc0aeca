// Rewards of texts: a completion, a NUL, an oracle. The similarity is a share, symmetric at its
// ends, and never more than the common symbols allow.
#include <algorithm>
#include <map>

#include "fuzz.h"
#include "reward/code_points.h"
#include "reward/format.h"
#include "reward/similarity.h"

namespace kw::fuzz {

KW_FUZZ(reward, text) {
  std::string_view completion = take_until(text, '\0');
  double ratio = reward::similarity_ratio(completion, text);
  KW_CHECK(ratio >= 0 && ratio <= 1);
  KW_CHECK(reward::similarity_ratio(text, text) == 1);
  auto a = reward::code_points(completion), b = reward::code_points(text);
  std::map<std::uint32_t, std::int64_t> left;
  for (std::uint32_t symbol : a) ++left[symbol];
  std::uint64_t common = 0;
  for (std::uint32_t symbol : b) common += left[symbol]-- > 0 ? 1 : 0;
  std::uint64_t matching = reward::matching_symbols(a, b);
  KW_CHECK(matching <= common);
  KW_CHECK((matching == 0) == (common == 0));
  KW_CHECK((ratio == 1) == (a == b));

  reward::Format format = reward::format_reward(completion, "<eos>");
  KW_CHECK(format.reward == 0 || format.reward == 0.5 || format.reward == 1);
  KW_CHECK(format.reward < 1 || (format.code && !format.code->empty()));
  KW_CHECK(!format.code || format.code->size() + 6 <= completion.size());
  double sum = reward::format_and_similarity_reward(completion, text, "<eos>");
  KW_CHECK(sum >= format.reward && sum <= 2);
}

}  // namespace kw::fuzz
