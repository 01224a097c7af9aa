// Softmax, a classifier's loss, and the layers of language models.
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "autograd/engine.h"
#include "autograd/nn/rnn.h"
#include "autograd/ops.h"
#include "autograd/ops/attention.h"
#include "autograd/ops/embedding.h"
#include "autograd/ops/nn.h"
#include "optim/local_optimizer.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/bench/tensor/row.h"

namespace troupe::bench {
namespace {

constexpr std::int64_t kBatch = 128;
constexpr std::int64_t kClasses = 1000;

// A table of 10,000 rows of 64, from which 512 bags select 20 rows each.
constexpr std::int64_t kRows = 10'000;
constexpr std::int64_t kWidth = 64;
const Shape kBags{512, 20};

Row bags(const std::string& gradient, bool sparse) {
  return {"embedding_bag/512x20/" + gradient, "forward + backward", [sparse] {
            Generator generator(3);
            const Variable table(randn({kRows, kWidth}, generator), RequiresGrad::yes);
            const EmbeddingBagOptions options{.mode = BagMode::sum, .sparse = sparse};
            return [table, index = randint(0, kRows, kBags, generator), options, g = ones({kBags[0], kWidth})] {
              const Variable y = embedding_bag(table, index, {}, options);
              (void)backward({&y, 1}, {&g, 1});
            };
          }};
}

/// The table is trained: the gradient's rows are summed and update their rows of the table, different ones in every
/// batch.
Row bags_step() {
  return {"embedding_bag/512x20/sparse/step", "training step", [] {
            Generator generator(3);
            const Variable table(randn({kRows, kWidth}, generator), RequiresGrad::yes);
            std::vector<Tensor> batches;
            for (int i = 0; i < 4; ++i) batches.push_back(randint(0, kRows, kBags, generator));
            auto optimizer = std::make_shared<optim::LocalOptimizer>(std::vector{table}, optim::SgdOptions{.lr = 1e-3});
            const EmbeddingBagOptions options{.mode = BagMode::sum, .sparse = true};
            return [table, batches, optimizer, options, g = ones({kBags[0], kWidth}), next = std::size_t{0}]() mutable {
              const Variable y = embedding_bag(table, batches[next++ % batches.size()], {}, options);
              optimizer->step(backward({&y, 1}, {&g, 1}));
            };
          }};
}

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
  rows.push_back({"attention/8x1024x64", "forward + backward", [] {
                    Generator generator(4);
                    const auto operand = [&] { return Variable(randn({8, 1024, 64}, generator), RequiresGrad::yes); };
                    return [q = operand(), k = operand(), v = operand(), g = ones({8, 1024, 64})] {
                      const Variable y = scaled_dot_product_attention(q, k, v, {.causal = true});
                      (void)backward({&y, 1}, {&g, 1});
                    };
                  }});
  rows.push_back(bags("dense", false));
  rows.push_back(bags("sparse", true));
  rows.push_back(bags_step());
  return rows;
}

}  // namespace troupe::bench
