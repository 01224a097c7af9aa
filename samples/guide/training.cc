// Page 4 of the guide: a line is fitted whose parameters live on another node.
#include <cmath>
#include <iostream>
#include <vector>

#include "samples/program.h"
#include "troupe.h"

using namespace troupe;

/// What the parameter server keeps.
class Line : public nn::Module {
 public:
  explicit Line(double slope)
      : slope_(add_parameter("slope", full({}, slope))), height_(add_parameter("height", zeros({}))) {}
  Variable forward(const Variable& x) { return x * slope_ + height_; }

 private:
  Variable slope_, height_;
};

inline constexpr auto line_class = module_class<Line, double>;

int run(int /*argc*/, char** /*argv*/) {
  const FunctionRegistry functions{{"Line", line_class}};
  LocalCluster cluster({"trainer", "ps0"}, functions);
  const Node& trainer = cluster.node("trainer");

  const RemoteModule line(trainer, "ps0", line_class, 0.5);
  const std::vector<RRef<Variable>> parameters = line.remote_parameters(trainer);
  const DistOptimizer optimizer(trainer, optim::SgdOptions{.lr = 0.5}, parameters);

  const Tensor x = linspace(-1.0, 1.0, 20);
  const Tensor y = x * 3.0 - 1.0;  // what is to be found
  for (int step = 0; step < 60; ++step) {
    DistContext context(trainer);
    const Variable loss = mse_loss(line.forward(context, x), y);
    backward(context, loss);
    optimizer.step(context);
  }
  const auto value = [&](const RRef<Variable>& v) { return std::round(v.to_here(trainer).item() * 1000) / 1000; };
  std::cout << "slope = " << value(parameters[0]) << ", height = " << value(parameters[1]) << std::endl;
  return 0;
}

int main(int argc, char** argv) { return samples::run_program(run, argc, argv); }
