#include "autograd/gradcheck.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "autograd/engine.h"
#include "autograd/ops.h"
#include "tensor/create.h"

namespace troupe {
namespace {

using Function = std::function<Variable(std::span<const Variable>)>;

/// Returns the sum of the result weighted with numbers in [0.5, 1.5), the same in every call.
Variable weighted(const Variable& result) {
  Generator generator(1);
  return sum(result * Variable(uniform(result.shape(), 0.5, 1.5, generator, DType::f64)));
}

double evaluate(const Function& function, std::span<const Variable> inputs) {
  const NoGradGuard no_grad;
  return weighted(function(inputs)).value().item();
}

/// Adds `shift` to one element of `input` during its own life.
class Shifted {
 public:
  Shifted(const Variable& input, std::size_t element, double shift) : input_(input), original_(input.value()) {
    Tensor shifted = original_.clone();
    shifted.mutable_data<double>()[element] += shift;
    input_.set_value(shifted);
  }
  ~Shifted() { input_.set_value(original_); }
  Shifted(const Shifted&) = delete;
  Shifted& operator=(const Shifted&) = delete;

 private:
  const Variable& input_;
  const Tensor original_;
};

/// Returns the function's value with `shift` added to one element of `input`.
double evaluate_shifted(const Function& function, std::span<const Variable> inputs, const Variable& input,
                        std::size_t element, double shift) {
  const Shifted shifted(input, element, shift);
  return evaluate(function, inputs);
}

}  // namespace

GradcheckResult gradcheck(const Function& function, std::span<const Variable> inputs, const GradcheckOptions& options) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype() != DType::f64) {
      throw DTypeError(fmt::format("[gradcheck] input {} is not f64: {}", i, name_of(inputs[i].dtype())));
    }
  }
  const Gradients gradients = backward(weighted(function(inputs)));
  GradcheckResult result;
  double worst_excess = -1.0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor original = inputs[i].value();
    const Tensor gradient = gradients.of(inputs[i]);
    const Tensor found = gradient.defined() ? gradient.contiguous() : zeros(original.shape(), DType::f64);
    for (std::size_t e = 0; e < static_cast<std::size_t>(original.numel()); ++e) {
      const double above = evaluate_shifted(function, inputs, inputs[i], e, options.step);
      const double below = evaluate_shifted(function, inputs, inputs[i], e, -options.step);
      const double expected = (above - below) / (2.0 * options.step);
      const double actual = found.data<double>()[e];
      const double difference = std::abs(actual - expected);
      const double allowed = options.atol + options.rtol * std::abs(expected);
      const double excess = std::isfinite(difference) ? difference / allowed : std::numeric_limits<double>::infinity();
      if (excess > 1.0) result.ok = false;
      if (excess > worst_excess) {
        worst_excess = excess;
        result.worst = fmt::format("input {}, element {}: backward {}, differences {}", i, e, actual, expected);
      }
    }
  }
  return result;
}

}  // namespace troupe
