// Matrix products, convolutions and pools.
#include <fmt/core.h>

#include "autograd/engine.h"
#include "autograd/ops.h"
#include "autograd/ops/nn.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/bench/tensor/row.h"

namespace troupe::bench {
namespace {

Row sgemm(std::int64_t n) {
  return {fmt::format("sgemm/{}", n), "none", [n] {
            Generator generator(1);
            return [a = randn({n, n}, generator), b = randn({n, n}, generator)] { (void)matmul(a, b); };
          }};
}

struct Convolution {
  std::string name;
  std::int64_t batch, inputs, outputs, side, kernel, stride, padding;
};

void add_convolution(std::vector<Row>& rows, const Convolution& c) {
  const Conv2dOptions options{.stride = {c.stride, c.stride}, .padding = {c.padding, c.padding}};
  const auto image = [c](Generator& generator) { return randn({c.batch, c.inputs, c.side, c.side}, generator); };
  const auto filters = [c](Generator& generator) {
    return randn({c.outputs, c.inputs, c.kernel, c.kernel}, generator);
  };
  rows.push_back({fmt::format("conv2d/{}", c.name), "none", [=] {
                    Generator generator(2);
                    return [x = image(generator), w = filters(generator), b = randn({c.outputs}, generator), options] {
                      (void)conv2d(x, w, b, options);
                    };
                  }});
  rows.push_back({fmt::format("conv2d/{}/backward", c.name), "forward + backward", [=] {
                    Generator generator(2);
                    const Variable x(image(generator), RequiresGrad::yes);
                    const Variable w(filters(generator), RequiresGrad::yes);
                    const Variable b(randn({c.outputs}, generator), RequiresGrad::yes);
                    const Tensor g = ones_like(conv2d(x, w, b, options).value());
                    return [=] {
                      const Variable y = conv2d(x, w, b, options);
                      (void)backward({&y, 1}, {&g, 1});
                    };
                  }});
}

}  // namespace

std::vector<Row> product_rows() {
  std::vector<Row> rows;
  for (std::int64_t n = 64; n <= 2048; n *= 2) rows.push_back(sgemm(n));
  // The convolutions of the MNIST network, and one of each size of ResNet-50 for images of 64 x 64.
  for (const Convolution& c : {Convolution{"1x32x28", 32, 1, 32, 28, 3, 1, 0},
                               {"32x64x28", 32, 32, 64, 28, 3, 1, 0},
                               {"resnet/7x7_3x64", 8, 3, 64, 64, 7, 2, 3},
                               {"resnet/3x3_64", 8, 64, 64, 16, 3, 1, 1},
                               {"resnet/3x3_128", 8, 128, 128, 8, 3, 1, 1},
                               {"resnet/3x3_256", 8, 256, 256, 4, 3, 1, 1},
                               {"resnet/3x3_512", 8, 512, 512, 2, 3, 1, 1}}) {
    add_convolution(rows, c);
  }
  return rows;
}

}  // namespace troupe::bench
