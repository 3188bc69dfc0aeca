// DistillLoss: every choice of the loss that a teacher's distributions give, without torch.
// divergence.h computes it.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace kw::train {

// The divergence D of one token, where p is the teacher's distribution of the next token and q the
// student's, both of logits over the temperature.
//   forward         KL(p || q)                                  (Hinton et al. 2015, 1503.02531)
//   reverse         KL(q || p)                                  (MiniLLM, arXiv 2306.08543)
//   jensen_shannon  beta KL(p || m) + (1 - beta) KL(q || m), m = beta p + (1 - beta) q
//                   (GKD, arXiv 2306.13649, eq. 1; its gradient goes to that of forward as beta
//                   goes to 0, and to that of reverse as beta goes to 1, both times a small factor)
enum class Divergence : std::uint8_t { kForward, kReverse, kJensenShannon };
inline constexpr std::array<std::string_view, 3> kDivergenceNames = {"forward", "reverse",
                                                                     "jensen_shannon"};
// name: one of them; another one is forward.
constexpr Divergence divergence_named(std::string_view name) {
  for (std::size_t i = 0; i < kDivergenceNames.size(); ++i)
    if (kDivergenceNames[i] == name) return static_cast<Divergence>(i);
  return Divergence::kForward;
}

// The loss of one token is (1 - c) t^2 D - c log q'(target): t the temperature, whose square keeps
// the size of gradients (Hinton et al., section 2), c the share of cross-entropy, q' the student's
// distribution at temperature 1.
//
// With top_k the outcomes are the teacher's k likeliest tokens and one more, which is any other
// token: its probability is 1 minus those of the k, in p and in q (the "ghost token" of Sparse
// Logit Sampling, arXiv 2503.16870). Unlike the k alone, normed again, this is a divergence of
// distributions: it is 0 where they agree on the outcomes, and at most D over all tokens.
struct DistillLoss {
  Divergence divergence = Divergence::kForward;
  double beta = 0.5;       // of kJensenShannon, over 0 and under 1
  std::int64_t top_k = 0;  // 0: all tokens
  double temperature = 1;
  double cross_entropy = 0;  // c, from 0 to 1
};

}  // namespace kw::train
