// A small oracle run for tests: an elementwise function of normal inputs, with trusted and
// perturbed results.
#pragma once
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/random.h"
#include "gym/correctness/budget.h"
#include "tensor/half.h"

namespace kw::gym::testing {

// y = f(x), dtype as given; owns everything that its InstanceBudget borrows. Not movable.
struct RandomCase {
  RandomCase(tensor::DType type, std::vector<std::int64_t> dims, std::uint64_t seed,
             const std::function<double(double)>& f)
      : dtype(type), shape(std::move(dims)) {
    Rng rng(seed);
    auto count = static_cast<std::size_t>(elements_of(shape));
    perturbed.resize(2);
    for (std::size_t i = 0; i < count; ++i) {
      auto x = static_cast<double>(round_to(dtype, static_cast<float>(rng.normal())));
      inputs.push_back(static_cast<float>(x));
      exact.push_back(f(x));
      for (auto& p : perturbed)
        p.push_back(f(x * (1 + (rng.below(2) == 0 ? 1 : -1) * tensor::epsilon_of(dtype))));
    }
    trusted = stored(exact);
  }
  RandomCase(const RandomCase&) = delete;
  RandomCase& operator=(const RandomCase&) = delete;

  std::vector<std::byte> stored(const std::vector<double>& values) const {
    std::vector<float> narrow(values.begin(), values.end());
    std::vector<std::byte> bytes(values.size() * tensor::size_of(dtype));
    store(dtype, narrow, 0, bytes);
    return bytes;
  }
  TensorView view(const std::vector<std::byte>& bytes) const { return {dtype, shape, bytes}; }
  Result<InstanceBudget> budget() const {
    return InstanceBudget::make({dtype, shape, 0},
                                {exact, view(trusted), {perturbed.begin(), perturbed.end()}});
  }

  tensor::DType dtype;
  std::vector<std::int64_t> shape;
  std::vector<float> inputs;
  std::vector<double> exact;
  std::vector<std::vector<double>> perturbed;
  std::vector<std::byte> trusted;
};

}  // namespace kw::gym::testing
