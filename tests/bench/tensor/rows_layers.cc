// Softmax and the loss of a classifier, and what language models are made of.
#include <memory>

#include "autograd/engine.h"
#include "autograd/nn/rnn.h"
#include "autograd/ops.h"
#include "autograd/ops_nn.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/bench/tensor/row.h"

namespace troupe::bench {
namespace {

constexpr std::int64_t kBatch = 128;
constexpr std::int64_t kClasses = 1000;

}  // namespace

std::vector<Row> layer_rows() {
  std::vector<Row> rows;
  rows.push_back({"softmax/128x1000", "none", [] {
                    Generator generator(1);
                    return [x = randn({kBatch, kClasses}, generator)] { (void)softmax(x, 1); };
                  }});
  rows.push_back({"cross_entropy/128x1000/backward", "forward + backward", [] {
                    Generator generator(1);
                    return [x = Variable(randn({kBatch, kClasses}, generator), RequiresGrad::yes),
                            target = randint(0, kClasses, {kBatch}, generator)] {
                      (void)backward(cross_entropy(x, target));
                    };
                  }});
  rows.push_back({"lstm/35x20/128-256x2/backward", "forward + backward", [] {
                    Generator generator(2);
                    auto lstm = std::make_shared<nn::Lstm>(128, 256, generator, nn::RnnOptions{.layers = 2});
                    const Variable x(randn({35, 20, 128}, generator), RequiresGrad::yes);
                    return [lstm, x] { (void)backward(sum(lstm->forward(x).output)); };
                  }});
  return rows;
}

}  // namespace troupe::bench
