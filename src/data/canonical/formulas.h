// Named operators as formulas of terms, as people write them by hand.
#pragma once
#include "data/canonical/terms.h"

namespace kw::data::canonical {

TermId silu(Terms& terms, TermId x);
TermId gelu(Terms& terms, TermId x, bool by_tanh);
TermId softplus(Terms& terms, TermId x, double beta);
TermId mish(Terms& terms, TermId x);
TermId hardsigmoid(Terms& terms, TermId x);
TermId leaky_relu(Terms& terms, TermId x, double slope);
TermId elu(Terms& terms, TermId x, double alpha, double scale, double input_scale);
TermId softmax(Terms& terms, TermId x, std::int64_t axis);
TermId log_softmax(Terms& terms, TermId x, std::int64_t axis);
// A vector norm of order 1 or 2. The result's shape is given, as for reduce().
TermId vector_norm(Terms& terms, TermId x, int order, const Numbers& axes, const Numbers& shape);
// The sum of squared differences from the mean, over the number less `correction`.
TermId variance(Terms& terms, TermId x, const Numbers& axes, double correction,
                const Numbers& shape);
// Less the mean, over the root of variance and eps.
TermId normalised(Terms& terms, TermId x, const Numbers& axes, double eps);

}  // namespace kw::data::canonical
