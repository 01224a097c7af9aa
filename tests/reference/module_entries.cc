#include "autograd/nn/activation.h"
#include "autograd/nn/conv.h"
#include "autograd/nn/dropout.h"
#include "autograd/nn/embedding.h"
#include "autograd/nn/linear.h"
#include "autograd/nn/pool.h"
#include "autograd/nn/reshape.h"
#include "autograd/nn/sequential.h"
#include "autograd/nn/state_dict.h"
#include "tests/reference/entries.h"

namespace troupe::reference {
namespace {

/// Creates a layer in the dtype of the case. Its initial values are overwritten.
using Make = std::function<std::shared_ptr<nn::Layer>(const Case&, Generator&)>;

/// Loads the parameters of the case, then applies the layer to its first input.
Entry layer(const Make& make) {
  return [make](const Case& c) {
    Generator generator(1);
    const std::shared_ptr<nn::Layer> made = make(c, generator);
    nn::load_state_dict(*made, c.all("parameter."));
    made->set_mode(c.flag("train") ? nn::Mode::train : nn::Mode::eval);
    return Computed(made->forward(c.in(0)), made);
  };
}

template <class L>
Entry plain() {
  return layer([](const Case&, Generator&) { return std::make_shared<L>(); });
}

std::shared_ptr<nn::Linear> linear_layer(const Case& c, Generator& g, std::int64_t inputs, std::int64_t outputs) {
  return std::make_shared<nn::Linear>(inputs, outputs, g, nn::Bias::yes, c.dtype());
}

}  // namespace

Entries module_entries() {
  return {
      {"Linear", layer([](const Case& c, Generator& g) {
         return std::make_shared<nn::Linear>(c.integer("inputs"), c.integer("outputs"), g, layer_bias(c), c.dtype());
       })},
      {"Conv2d", layer([](const Case& c, Generator& g) {
         const Size2d channels = c.size2d("channels");
         const Conv2dOptions options{c.size2d("stride"), c.size2d("padding"), {1, 1}};
         return std::make_shared<nn::Conv2d>(channels[0], channels[1], c.size2d("kernel"), g, options, layer_bias(c),
                                             c.dtype());
       })},
      {"MaxPool2d", layer([](const Case& c, Generator&) {
         return std::make_shared<nn::MaxPool2d>(
             MaxPool2dOptions{c.size2d("kernel"), c.size2d("stride"), c.size2d("padding")});
       })},
      {"Embedding", layer([](const Case& c, Generator& g) {
         return std::make_shared<nn::Embedding>(c.integer("rows"), c.integer("width"), g, c.dtype());
       })},
      {"Relu", plain<nn::Relu>()},
      {"Tanh", plain<nn::Tanh>()},
      {"Sigmoid", plain<nn::Sigmoid>()},
      {"LogSoftmax", plain<nn::LogSoftmax>()},
      {"Flatten", plain<nn::Flatten>()},
      {"Dropout",
       layer([](const Case& c, Generator& g) { return std::make_shared<nn::Dropout>(c.number("probability"), g); })},
      {"Sequential", layer([](const Case& c, Generator& g) {
         const std::vector<std::int64_t> sizes = c.integers("sizes");
         return nn::sequential(linear_layer(c, g, sizes[0], sizes[1]), std::make_shared<nn::Tanh>(),
                               linear_layer(c, g, sizes[1], sizes[2]), std::make_shared<nn::LogSoftmax>());
       })},
      {"DigitNet", layer([](const Case& c, Generator& g) {
         return nn::sequential(
             std::make_shared<nn::Conv2d>(1, 4, Size2d{3, 3}, g, Conv2dOptions{}, nn::Bias::yes, c.dtype()),
             std::make_shared<nn::Relu>(), std::make_shared<nn::MaxPool2d>(), std::make_shared<nn::Flatten>(),
             linear_layer(c, g, 36, 10));
       })},
  };
}

}  // namespace troupe::reference
