// The draws and what they decide.
#include "gym/checker/further_draws.h"

#include <string>
#include <vector>

#include "base/present.h"
#include "base/text.h"
#include "gym/checker/session_seeds.h"
#include "gym/inputs/seeds.h"

namespace kw::gym {

Status FurtherDraws::decide() {
  KW_TRY(std::optional<NearBudget> near, near_budget());
  if (!near || fault_.found()) return {};
  const std::optional<std::size_t> hard = near->hard;
  Result<task::Borderline> drawn = draw_all(*near);
  // The case has secret inputs again for the candidates to come.
  if (hard) context_.hard.renew(context_.hard.at(*hard));
  KW_TRY(task::Borderline found, std::move(drawn));
  if (fault_.found()) return {};
  if (!found.passes()) fault_.blame(present(near->mismatch));
  borderline_ = std::move(found);
  return {};
}

Result<std::optional<NearBudget>> FurtherDraws::near_budget() {
  JudgedOutputs& outputs = calls_.outputs();
  std::optional<NearBudget> near = outputs.take_near_budget();
  const std::optional<Doubt> doubt = outputs.take_doubt();
  if (near || !doubt || fault_.found()) return near;
  const Result<double> error = draw(0, doubt->hard);
  if (doubt->hard) context_.hard.renew(context_.hard.at(*doubt->hard));
  if (!error) return tl::unexpected(error.error());
  drawn_.push_back(*error);
  return outputs.take_near_budget();
}

// A mismatch of the draws takes the place of one that is not there.
Result<task::Borderline> FurtherDraws::draw_all(NearBudget& near) {
  task::Borderline out{near.largest, std::move(drawn_)};
  for (std::size_t i = out.further.size(); i < task::Borderline::kDraws && !fault_.found(); ++i) {
    KW_TRY(const double error, draw(i, near.hard));
    out.further.push_back(error);
    std::optional<NearBudget> again = calls_.outputs().take_near_budget();
    if (again && !near.mismatch) near.mismatch = std::move(again->mismatch);
  }
  return out;
}

Result<double> FurtherDraws::draw(std::size_t number, std::optional<std::size_t> hard) {
  constexpr std::uint32_t kSet = 0;
  const SecretSeeds seeds(known_seed_of(context_.signature));
  const SessionSeeds::Known known(context_.seeds, seeds.seed("further draw", number));
  if (hard) context_.hard.renew(context_.hard.at(*hard));
  KW_TRY_STATUS(calls_.unjudged_call(kSet, hard));
  return fault_.found() ? Result<double>(0.0) : calls_.outputs().judge_closely(kSet, hard);
}

std::string borderline_text(const task::Borderline& borderline) {
  std::vector<std::string> further;
  for (double error : borderline.further) further.push_back(fmt::format("{:.2f}", error));
  return fmt::format(
      "the largest error is {:.2f} of what rounding explains, near the limit: two "
      "further draws decided ({})",
      borderline.largest, join(further, ", "));
}

}  // namespace kw::gym
