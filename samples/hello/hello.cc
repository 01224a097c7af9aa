// Calls, a remote reference, a backward pass and a step over two nodes. Run alone it has both nodes in one process;
// `troupe up samples/hello/cluster.toml` runs it as two.
#include <iostream>

#include "actors/dist_autograd.h"
#include "actors/dist_optimizer.h"
#include "autograd/ops.h"
#include "autograd/print.h"
#include "node/local_cluster.h"
#include "samples/program.h"
#include "tensor/create.h"
#include "tensor/print.h"

using namespace troupe;

Variable project(const Variable& x, const Variable& w) { return matmul(x, w); }

/// A function that calls further takes the Scope it is served in.
Variable twice(Scope& scope, const Variable& x, const Variable& w) {
  return scope.rpc_sync("trainer", &project, x, w) * 2.0;
}

void train(const Node& trainer) {
  const Variable x(from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3}));
  const Variable w(from_values<float>({1, 0, 0}), RequiresGrad::yes);

  DistContext ctx(trainer);                                       // one forward and backward pass
  const Variable y = ctx.rpc_sync("ps0", &project, x, w);         // waits for the result
  const Future<Variable> f = ctx.rpc_async("ps0", &twice, x, w);  // does not; ps0 calls us back meanwhile
  const RRef<Variable> r = ctx.remote("ps0", &project, x, w);     // the result stays on ps0
  backward(ctx, sum(y) + sum(f.get()) + sum(r.to_here(ctx)));

  std::cout << "x w = " << y << std::endl;
  // x w came in once, twice and once: 4 * (1 + 4, 2 + 5, 3 + 6).
  std::cout << "gradient of w = " << ctx.grad(w) << ", by hand: [20. 28. 36.]" << std::endl;

  const DistOptimizer optimizer(trainer, optim::SgdOptions{.lr = 0.125}, {RRef<Variable>(trainer, w)});
  optimizer.step(ctx);
  // (1, 0, 0) - 0.125 * (20, 28, 36)
  std::cout << "w after a step = " << w << ", by hand: [-1.5 -3.5 -4.5]" << std::endl;
}

int run(int /*argc*/, char** /*argv*/) {
  const FunctionRegistry functions{{"project", &project}, {"twice", &twice}};
  const NodeOptions options = NodeOptions::from_environment();
  if (options.world_size == 1) {
    LocalCluster cluster({"trainer", "ps0"}, functions);
    train(cluster.node("trainer"));
  } else {
    Node node = Node::join(options, functions);
    if (node.name() == "trainer") train(node);
    node.serve();
    node.shutdown();
  }
  return 0;
}

int main(int argc, char** argv) { return samples::run_program(run, argc, argv); }
