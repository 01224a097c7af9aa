// Chains of additions, and operations so small that the call dominates their cost.
#include <fmt/core.h>

#include <utility>

#include "autograd/engine.h"
#include "autograd/ops.h"
#include "autograd/ops/nn.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/bench/tensor/row.h"

namespace troupe::bench {
namespace {

constexpr int kAdds = 200;

Row chain(const std::string& size, std::int64_t elements) {
  return {fmt::format("chain/{}_adds/{}", kAdds, size), "none",
          [elements] {
            Generator generator(1);
            return [x = randn({elements}, generator), y = randn({elements}, generator)] {
              Tensor sum = x + y;
              for (int i = 1; i < kAdds; ++i) sum = std::move(sum) + y;
              (void)sum.bytes();  // large sums are deferred until their elements are read
            };
          },
          elements > 10'000'000};
}

/// Rows of `f` on two matrices of 5 x 2, without and with a graph.
template <class F>
void add_small(std::vector<Row>& rows, const std::string& name, const F& f) {
  rows.push_back({"small/" + name, "none", [f] {
                    Generator generator(2);
                    return [f, a = randn({5, 2}, generator), b = randn({5, 2}, generator)] { (void)f(a, b); };
                  }});
  rows.push_back({"small/" + name + "/recorded", "forward", [f] {
                    Generator generator(2);
                    return [f, a = Variable(randn({5, 2}, generator), RequiresGrad::yes),
                            b = Variable(randn({5, 2}, generator), RequiresGrad::yes)] { (void)f(a, b); };
                  }});
}

}  // namespace

std::vector<Row> elementwise_rows() {
  std::vector<Row> rows{chain("4B", 1), chain("4MB", 1 << 20), chain("400MB", 100 << 20)};
  add_small(rows, "add", [](const auto& a, const auto& b) { return a + b; });
  add_small(rows, "mul_scalar", [](const auto& a, const auto&) { return a * 2.0; });
  add_small(rows, "tanh", [](const auto& a, const auto&) { return tanh(a); });
  add_small(rows, "sum", [](const auto& a, const auto&) { return sum(a); });
  rows.push_back(
      {"small/linear/backward", "forward + backward", [] {
         Generator generator(3);
         return [x = Variable(randn({5, 2}, generator)), w = Variable(randn({2, 2}, generator), RequiresGrad::yes),
                 b = Variable(randn({2}, generator), RequiresGrad::yes)] { (void)backward(sum(linear(x, w, b))); };
       }});
  return rows;
}

}  // namespace troupe::bench
