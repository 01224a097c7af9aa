// Page 4 of the guide: a line is fitted whose parameters live on another node.
#include <cmath>
#include <iostream>

#include "samples/program.h"
#include "troupe.h"

using namespace troupe;

/// What the parameter server keeps.
class Line {
 public:
  Line() : slope_(zeros({}), RequiresGrad::yes), height_(zeros({}), RequiresGrad::yes) {}
  Variable forward(const Variable& x) { return x * slope_ + height_; }
  Variable slope() { return slope_; }
  Variable height() { return height_; }

 private:
  Variable slope_, height_;
};

int run(int /*argc*/, char** /*argv*/) {
  const FunctionRegistry functions{{"Line", constructor<Line>},
                                   {"Line::forward", &Line::forward},
                                   {"Line::slope", &Line::slope},
                                   {"Line::height", &Line::height}};
  LocalCluster cluster({"trainer", "ps0"}, functions);
  const Node& trainer = cluster.node("trainer");

  const RRef<Line> line = trainer.remote("ps0", constructor<Line>);
  const RRef<Variable> slope = line.remote(trainer, &Line::slope);
  const RRef<Variable> height = line.remote(trainer, &Line::height);
  const DistOptimizer optimizer(trainer, optim::SgdOptions{.lr = 0.5}, {slope, height});

  const Tensor x = linspace(-1.0, 1.0, 20);
  const Tensor y = x * 3.0 - 1.0;  // what is to be found
  for (int step = 0; step < 60; ++step) {
    DistContext context(trainer);
    const Variable loss = mse_loss(line.rpc_sync(context, &Line::forward, Variable(x)), y);
    backward(context, loss);
    optimizer.step(context);
  }
  const auto rounded = [](const Variable& v) { return std::round(v.item() * 1000) / 1000; };
  std::cout << "slope = " << rounded(slope.to_here(trainer)) << ", height = " << rounded(height.to_here(trainer))
            << std::endl;
  return 0;
}

int main(int argc, char** argv) { return samples::run_program(run, argc, argv); }
