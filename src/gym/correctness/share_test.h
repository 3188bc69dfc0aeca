// Whether something happens in most of independent draws, from as few as it takes.
#pragma once

namespace kw::gym {

// Wald's sequential test (1945) between two shares: it decides "rarely" wrongly where the share is
// kOften or more, and "often" wrongly where it is kRarely or less, once in 1 / kMistake at most.
// Between the two either answer is right.
class ShareTest {
 public:
  static constexpr double kRarely = 0.6, kOften = 0.9, kMistake = 1e-4;

  void add(bool happened);
  int draws() const { return draws_; }
  int happened() const { return happened_; }
  bool is_decided() const { return is_often_ || is_rare_; }
  // Returns what was decided; before that, whether the share so far is nearer to kOften.
  bool is_often() const;

 private:
  int draws_ = 0, happened_ = 0;
  double evidence_ = 0;  // log-likelihood ratio of kOften to kRarely
  bool is_often_ = false, is_rare_ = false;
};

}  // namespace kw::gym
