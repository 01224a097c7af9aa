// Operations and training steps on the first GPU. There are none on machines without one.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autograd/engine.h"
#include "autograd/nn/linear.h"
#include "autograd/ops.h"
#include "autograd/ops/nn.h"
#include "autograd/ops/norm.h"
#include "optim/local_optimizer.h"
#include "tensor/create.h"
#include "tensor/device.h"
#include "tensor/ops.h"
#include "tensor/ops/conv.h"
#include "tensor/ops/embedding.h"
#include "tensor/ops/nn.h"
#include "tensor/ops/scan.h"
#include "tensor/ops/sort.h"
#include "tests/bench/tensor/models.h"
#include "tests/bench/tensor/row.h"

namespace troupe::bench {
namespace {

const Device kGpu = Device::cuda();

Tensor drawn(const Shape& shape, std::uint64_t seed = 1) {
  Generator generator(seed);
  return randn(shape, generator).to(kGpu);
}

/// A row of `f`, which takes tensors on the GPU of these shapes.
template <class F, class... Shapes>
Row operation(const std::string& name, const F& f, const Shapes&... shapes) {
  return {"gpu/" + name, "none",
          [f, shapes...]() -> Work { return [f, x = std::make_tuple(drawn(shapes)...)] { (void)std::apply(f, x); }; }};
}

template <class Model>
Row step_of(const std::string& name, const Shape& inputs, std::int64_t classes) {
  return {"gpu/train/" + name, "training step", [inputs, classes]() -> Work {
            Generator generator(2);
            auto model = std::make_shared<Model>(generator);
            model->to(kGpu);
            auto optimizer = std::make_shared<optim::LocalOptimizer>(model->parameters(),
                                                                     optim::SgdOptions{.lr = 1e-3, .momentum = 0.9});
            return [model, optimizer, x = Variable(drawn(inputs)),
                    target = randint(0, classes, {inputs[0]}, generator).to(kGpu)] {
              optimizer->step(backward(cross_entropy(model->forward(x), target), {.graph = Graph::release}));
            };
          }};
}

/// Three linear layers of 1024.
class Perceptron : public nn::Module {
 public:
  explicit Perceptron(Generator& generator) {
    for (int i = 0; i < 3; ++i)
      layers_.push_back(add_module(std::to_string(i), std::make_shared<nn::Linear>(1024, 1024, generator)));
  }
  Variable forward(const Variable& x) {
    return layers_[2]->forward(relu(layers_[1]->forward(relu(layers_[0]->forward(x)))));
  }

 private:
  std::vector<std::shared_ptr<nn::Linear>> layers_;
};

std::vector<Row> operations() {
  const Shape square{4096, 4096};
  return {operation(
              "add_number/4B", [](const Tensor& x) { return x + 1.0; }, Shape{1}),
          operation(
              "add_number/4MB", [](const Tensor& x) { return x + 1.0; }, Shape{1 << 20}),
          operation(
              "add_number/400MB", [](const Tensor& x) { return x + 1.0; }, Shape{100 << 20}),
          operation(
              "add/400MB", [](const Tensor& x, const Tensor& y) { return x + y; }, Shape{100 << 20}, Shape{100 << 20}),
          operation(
              "add_row/4096x4096", [](const Tensor& x, const Tensor& y) { return x + y; }, square, Shape{4096}),
          operation(
              "tanh/64MB", [](const Tensor& x) { return tanh(x); }, square),
          operation(
              "transpose/4096x4096", [](const Tensor& x) { return x.transpose().contiguous(); }, square),
          operation(
              "sum/400MB", [](const Tensor& x) { return sum(x); }, Shape{100 << 20}),
          operation(
              "sum/rows/4096x4096", [](const Tensor& x) { return sum(x, 1); }, square),
          operation(
              "sum/columns/4096x4096", [](const Tensor& x) { return sum(x, 0); }, square),
          operation(
              "softmax/4096x4096", [](const Tensor& x) { return softmax(x, 1); }, square),
          operation(
              "layer_norm/4096x1024",
              [](const Tensor& x, const Tensor& w, const Tensor& b) {
                return layer_norm(Variable(x), {1024}, Variable(w), Variable(b));
              },
              Shape{4096, 1024}, Shape{1024}, Shape{1024}),
          operation(
              "sgemm/4096", [](const Tensor& x, const Tensor& y) { return matmul(x, y); }, square, square),
          operation(
              "conv2d/32x64x56",
              [](const Tensor& x, const Tensor& w) {
                return conv2d(x, w, {}, {.padding = {1, 1}});
              },
              Shape{32, 64, 56, 56}, Shape{64, 64, 3, 3}),
          operation(
              "cumsum/4096x4096", [](const Tensor& x) { return cumsum(x, 1); }, square),
          operation(
              "sort/4M", [](const Tensor& x) { return sort(x).values; }, Shape{1 << 22})};
}

Row embedding_row() {
  return {"gpu/embedding/100000x64/65536", "none", []() -> Work {
            Generator generator(3);
            return [table = drawn({100'000, 64}), index = randint(0, 100'000, {65'536}, generator).to(kGpu)] {
              (void)embedding(table, index);
            };
          }};
}

Row loss_row() {
  return {"gpu/cross_entropy/4096x1000/backward", "forward + backward", []() -> Work {
            Generator generator(3);
            return
                [x = Variable(drawn({4096, 1000}), RequiresGrad::yes),
                 target = randint(0, 1000, {4096}, generator).to(kGpu)] { (void)backward(cross_entropy(x, target)); };
          }};
}

}  // namespace

std::vector<Row> gpu_rows() {
  if (gpu_count() == 0) return {};
  std::vector<Row> rows = operations();
  rows.push_back(embedding_row());
  rows.push_back(loss_row());
  rows.push_back(step_of<Perceptron>("perceptron/256x1024", {256, 1024}, 1024));
  rows.push_back(step_of<MnistNet>("mnist/256x1x28x28", {256, 1, 28, 28}, 10));
  rows.push_back(step_of<ResNet50>("resnet50/32x3x224x224", {32, 3, 224, 224}, 1000));
  return rows;
}

}  // namespace troupe::bench
