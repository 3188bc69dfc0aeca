// Two proposers in turn.
#include <algorithm>
#include <array>
#include <utility>

#include "search/proposer.h"

namespace kw::search {
namespace {

bool is_limit(const Proposed& proposed) {
  const auto* exhausted = std::get_if<Exhausted>(&proposed);
  return exhausted != nullptr && exhausted->end != runlog::End::kExhausted;
}

class Alternate : public Proposer {
 public:
  Alternate(std::unique_ptr<Proposer> first, std::unique_ptr<Proposer> second)
      : two_{std::move(first), std::move(second)} {}

  Result<Proposed> propose(const ProposalRequest& request, std::stop_token stop) override {
    const auto turn = static_cast<std::size_t>(request.attempt % 2);
    ProposalRequest of_turn = request;
    of_turn.in_flight = request.in_flight / 2;  // every second one before this
    KW_TRY(Proposed proposed, two_[turn]->propose(of_turn, stop));
    if (!std::holds_alternative<Exhausted>(proposed)) return proposed;
    KW_TRY(Proposed other, two_[1 - turn]->propose(request, std::move(stop)));
    // When the first proposer ends because of a limit (a budget), that reason is reported.
    if (std::holds_alternative<Exhausted>(other) && is_limit(proposed)) return proposed;
    return other;
  }
  std::string name() const override { return two_[0]->name() + " and " + two_[1]->name(); }
  int most_at_once() const override {
    return std::min(two_[0]->most_at_once(), two_[1]->most_at_once());
  }
  // At most one of the two runs a model on this machine.
  gym::Background* background() override {
    gym::Background* of_first = two_[0]->background();
    return of_first != nullptr ? of_first : two_[1]->background();
  }

 private:
  std::array<std::unique_ptr<Proposer>, 2> two_;
};

}  // namespace

std::unique_ptr<Proposer> alternate(std::unique_ptr<Proposer> first,
                                    std::unique_ptr<Proposer> second) {
  return std::make_unique<Alternate>(std::move(first), std::move(second));
}

}  // namespace kw::search
