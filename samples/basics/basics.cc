// The first programs that one writes with remote calls, each with its expected value. Five nodes in this process.
#include <iostream>
#include <stdexcept>
#include <string>

#include "actors/dist_autograd.h"
#include "actors/op.h"
#include "actors/stream.h"
#include "actors/task.h"
#include "autograd/nn/linear.h"
#include "node/local_cluster.h"
#include "samples/program.h"
#include "tensor/create.h"
#include "tensor/print.h"

using namespace troupe;

Variable my_add(const Variable& x, double y) { return x + y; }

/// The sum of two values, wherever they are.
Tensor add_references(Scope& scope, const RRef<Tensor>& a, const RRef<Tensor>& b) {
  return a.to_here(scope) + b.to_here(scope);
}

/// Adds over two more nodes; holds no thread while it waits.
Task<Tensor> add_over(Scope& scope, NodeName second, NodeName third, Tensor x) {
  const Tensor once = co_await scope.rpc_async(second, op::add, x, 1.0);
  co_return co_await scope.rpc_async(third, op::add, once, 1.0);
}

/// x, 2 x, 4 x, ...: one after the other, no faster than they are read.
Stream<Tensor> doublings(Tensor x, int count) {
  for (int i = 0; i < count; ++i, x = x * 2.0) co_yield x;
}

/// Arrives at the caller as what it is.
struct TooFewRows : std::runtime_error {
  explicit TooFewRows(std::int64_t n = 0) : runtime_error("too few rows"), missing(n) {}
  std::int64_t missing;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(missing);
  }
};
Tensor first_rows(const Tensor& table, std::int64_t count) {
  if (count > table.size(0)) throw TooFewRows(count - table.size(0));
  return table.slice(0, 0, count);
}

/// A layer of a model, on whatever node it is made.
class Block {
 public:
  Block(std::int64_t in, std::int64_t out) : weight_(full({in, out}, 0.5), RequiresGrad::yes) {}

  Variable forward(Scope& scope, const RRef<Variable>& x) { return matmul(x.to_here(scope), weight_); }
  Tensor gradient(Scope& scope) const { return gradients(scope).of(weight_); }

 private:
  Variable weight_;
};

void show(const std::string& what, const Tensor& value, const std::string& expected) {
  std::cout << what << " = " << value << ", expected: " << expected << std::endl;
}

/// x reaches the sum by two ways: over p1 and then p2, and over p2 alone.
void gradient_program(const Node& p0) {
  const Variable x(zeros({2}), RequiresGrad::yes);
  DistContext ctx(p0);
  const Future<Variable> y = ctx.rpc_async("p1", &my_add, x, 1.0);
  const RRef<Variable> z = ctx.remote("p2", op::add, x, y.get());
  const Variable fetched = z.to_here(ctx);
  backward(ctx, sum(fetched));
  show("x + (x + 1)", fetched.value(), "[1. 1.]");
  show("its gradient for x", ctx.grad(x), "[2. 2.]");
}

/// Data goes p1, p2 -> p3 -> p4; p0 waits for nothing in between and never has it.
void reference_program(const Node& p0) {
  const RRef<Tensor> a = p0.remote("p1", op::ones, Shape{2});
  const RRef<Tensor> b = p0.remote("p2", op::ones, Shape{2});
  const RRef<Tensor> c = p0.remote("p3", &add_references, a, b);
  const RRef<Tensor> d = p0.remote("p4", &add_references, c, c);
  show("(1 + 1) + (1 + 1)", d.to_here(p0), "[4. 4.]");
}

/// Two layers on two nodes; only the end is fetched.
void model_program(const Node& p0) {
  const auto first = p0.remote("p1", constructor<Block, std::int64_t, std::int64_t>, 2, 3);
  const auto second = p0.remote("p2", constructor<Block, std::int64_t, std::int64_t>, 3, 1);
  DistContext ctx(p0);
  const RRef<Variable> x(ctx, Variable(ones({1, 2})));
  const RRef<Variable> hidden = first.remote(ctx, &Block::forward, x);
  const Variable loss = sum(second.remote(ctx, &Block::forward, hidden).to_here(ctx));
  backward(ctx, loss);
  show("loss", loss.value(), "1.5");  // 3 * (2 * 0.5) * 0.5
  show("gradient on p1", first.rpc_sync(ctx, &Block::gradient),
       "[[0.5 0.5 0.5] [0.5 0.5 0.5]]");                                               // x * second's weight
  show("gradient on p2", second.rpc_sync(ctx, &Block::gradient), "[[1.] [1.] [1.]]");  // hidden
}

void call_program(const Node& p0) {
  const Tensor x = ones({2});
  show("sync", p0.rpc_sync("p1", op::add, x, 3), "[4. 4.]");
  show("async", p0.rpc_async("p1", op::add, x, 3).get(), "[4. 4.]");
  const RRef<Tensor> a = p0.remote("p1", op::add, x, 3);
  const RRef<Tensor> b = p0.remote("p1", op::add, x, 1);
  show("two references", a.to_here(p0) + b.to_here(p0), "[6. 6.]");
  show("over three nodes", p0.rpc_sync("p1", &add_over, "p2", "p3", x), "[3. 3.]");
}

/// A function on another node's value, elements that come as they are read, an exception with its fields.
void stream_program(const Node& p0) {
  Tensor total = zeros({2});
  for (const Tensor& x : p0.rpc_sync("p1", &doublings, ones({2}), 4).read(p0)) total = total + x;
  show("1 + 2 + 4 + 8", total, "[15. 15.]");
  const RRef<Tensor> table = p0.remote("p2", op::ones, Shape{3, 2});
  show("two rows of three", table.rpc_sync(p0, &first_rows, 2), "[[1. 1.] [1. 1.]]");
  try {
    static_cast<void>(table.rpc_sync(p0, &first_rows, 5));
  } catch (const TooFewRows& error) {
    show("rows missing", scalar(error.missing), "2");
  }
}

int run(int /*argc*/, char** /*argv*/) {
  const FunctionRegistry functions{{"my_add", &my_add},
                                   {"add_references", &add_references},
                                   {"add_over", &add_over},
                                   {"doublings", &doublings},
                                   {"first_rows", &first_rows},
                                   exception<TooFewRows>("too_few_rows"),
                                   {"Block", constructor<Block, std::int64_t, std::int64_t>},
                                   {"Block::forward", &Block::forward},
                                   {"Block::gradient", &Block::gradient}};
  LocalCluster cluster({"p0", "p1", "p2", "p3", "p4"}, functions);
  const Node& p0 = cluster.node("p0");
  call_program(p0);
  stream_program(p0);
  reference_program(p0);
  model_program(p0);
  gradient_program(p0);
  return 0;
}

int main(int argc, char** argv) { return samples::run_program(run, argc, argv); }
