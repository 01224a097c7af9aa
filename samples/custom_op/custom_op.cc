// An operation of your own: the value beside its gradient, a check of it against differences, and a network that uses
// it.
#include <array>
#include <exception>
#include <iostream>
#include <numbers>

#include "autograd/custom_op.h"
#include "autograd/engine.h"
#include "autograd/gradcheck.h"
#include "autograd/nn/linear.h"
#include "autograd/ops.h"
#include "autograd/ops/nn.h"
#include "tensor/create.h"
#include "tensor/print.h"

using namespace troupe;

/// exp(-x^2). Source: Hartman, Keeler and Kowalski, "Layered neural networks with Gaussian hidden units as universal
/// approximations", 1990.
Variable hill(const Variable& x) {
  const Tensor in = x.value();
  const Tensor height = exp(-(in * in));
  return custom_op("hill", height, {x}, [x = Saved(in), height = Saved(height)](const Tensor& gradient) {
    return gradient * (-2.0 * x.get() * height.get());
  });
}

int main() try {
  const Variable one(from_values<double>({1.0}), RequiresGrad::yes);
  std::cout << "gradient at 1, times e = " << backward(sum(hill(one))).of(one) * std::numbers::e << ", by hand: [-2.]"
            << std::endl;

  const std::array<Variable, 1> points{Variable(arange(-3.0, 3.0, 0.25, DType::f64), RequiresGrad::yes)};
  const GradcheckResult check = gradcheck([](auto in) { return hill(in[0]); }, points);
  std::cout << "gradcheck: " << (check ? "right" : "WRONG") << "; worst: " << check.worst << std::endl;
  if (!check) return 1;

  Generator generator(1);
  nn::Linear hidden(1, 16, generator);
  nn::Linear out(16, 1, generator);
  const Variable x(arange(-3.0, 3.0, 0.1).unsqueeze(1));
  const Variable y(sin(x.value()));
  double loss_now = 0.0;
  for (int step = 0; step < 200; ++step) {
    Variable loss = mse_loss(out(hill(hidden(x))), y);
    loss_now = loss.item();
    for (const auto& [parameter, gradient] : backward(std::move(loss))) {
      parameter.set_value(parameter.value() - gradient * 0.1);
    }
  }
  // (3 - sin(6) / 2 - 2 (sin(3) - 3 cos(3))^2 / 9) / 6, with integrals for the sums
  std::cout << "the best straight line has a loss of 0.165; after 200 steps it is " << loss_now << std::endl;
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << std::endl;
  return 1;
}
