#include "autograd/nn/activation.h"
#include "autograd/nn/conv.h"
#include "autograd/nn/pool.h"
#include "autograd/nn/state_dict.h"
#include "autograd/ops.h"
#include "tests/reference/entries.h"

namespace troupe::reference {
namespace {

/// Creates a layer in the dtype of the case. Its initial values are overwritten.
using MakeImageLayer = std::function<std::shared_ptr<nn::Layer>(const Case&)>;

/// Loads the parameters of the case, then applies the layer to its first input.
Entry image_layer(const MakeImageLayer& make) {
  return [make](const Case& c) {
    const std::shared_ptr<nn::Layer> made = make(c);
    nn::load_state_dict(*made, c.all("parameter."));
    return Computed(made->forward(c.in(0)), made);
  };
}

template <class L, class... Args>
std::shared_ptr<nn::Layer> made(const Args&... args) {
  return std::make_shared<L>(args...);
}

template <class L, class Kernel, class Options>
std::shared_ptr<nn::Layer> convolution(const Case& c, const Kernel& kernel, const Options& options) {
  Generator g(1);
  const Size2d channels = c.size2d("channels");
  return std::make_shared<L>(channels[0], channels[1], kernel, g, options,
                             c.flag("bias") ? nn::Bias::yes : nn::Bias::no, c.dtype());
}

std::shared_ptr<nn::Layer> conv1d_layer(const Case& c) {
  const Conv1dOptions options{c.integer("stride"), c.integer("padding"), c.integer("dilation"), c.integer("groups")};
  return convolution<nn::Conv1d>(c, c.integer("kernel"), options);
}

std::shared_ptr<nn::Layer> conv2d_layer(const Case& c) {
  const Conv2dOptions options{c.size2d("stride"), c.size2d("padding"), c.size2d("dilation"), c.integer("groups")};
  return convolution<nn::Conv2d>(c, c.size2d("kernel"), options);
}

std::shared_ptr<nn::Layer> conv_transpose1d_layer(const Case& c) {
  const ConvTranspose1dOptions options{.stride = c.integer("stride"),
                                       .padding = c.integer("padding"),
                                       .output_padding = c.integer("output_padding"),
                                       .dilation = c.integer("dilation"),
                                       .groups = c.integer("groups")};
  return convolution<nn::ConvTranspose1d>(c, c.integer("kernel"), options);
}

std::shared_ptr<nn::Layer> conv_transpose2d_layer(const Case& c) {
  const ConvTranspose2dOptions options{.stride = c.size2d("stride"),
                                       .padding = c.size2d("padding"),
                                       .output_padding = c.size2d("output_padding"),
                                       .dilation = c.size2d("dilation"),
                                       .groups = c.integer("groups")};
  return convolution<nn::ConvTranspose2d>(c, c.size2d("kernel"), options);
}

std::shared_ptr<nn::Layer> max_pool1d_layer(const Case& c) {
  return made<nn::MaxPool1d>(MaxPool1dOptions{.kernel = c.integer("kernel_size"),
                                              .stride = c.integer("stride"),
                                              .padding = c.integer("padding"),
                                              .dilation = c.integer("dilation"),
                                              .ceil_mode = c.flag("ceil_mode")});
}

std::shared_ptr<nn::Layer> avg_pool1d_layer(const Case& c) {
  return made<nn::AvgPool1d>(AvgPool1dOptions{.kernel = c.integer("kernel_size"),
                                              .stride = c.integer("stride"),
                                              .padding = c.integer("padding"),
                                              .ceil_mode = c.flag("ceil_mode"),
                                              .count_include_pad = c.flag("count_include_pad")});
}

std::shared_ptr<nn::Layer> avg_pool2d_layer(const Case& c) {
  return made<nn::AvgPool2d>(AvgPool2dOptions{.kernel = c.size2d("kernel_size"),
                                              .stride = c.size2d("stride"),
                                              .padding = c.size2d("padding"),
                                              .ceil_mode = c.flag("ceil_mode"),
                                              .count_include_pad = c.flag("count_include_pad")});
}

}  // namespace

Entries image_layer_entries() {
  return {
      {"Conv1d", image_layer(conv1d_layer)},
      {"GroupedConv2d", image_layer(conv2d_layer)},
      {"ConvTranspose1d", image_layer(conv_transpose1d_layer)},
      {"ConvTranspose2d", image_layer(conv_transpose2d_layer)},
      {"MaxPool1d", image_layer(max_pool1d_layer)},
      {"AvgPool1d", image_layer(avg_pool1d_layer)},
      {"AvgPool2d", image_layer(avg_pool2d_layer)},
      {"AdaptiveAvgPool1d",
       image_layer([](const Case& c) { return made<nn::AdaptiveAvgPool1d>(c.integer("output_size")); })},
      {"AdaptiveAvgPool2d",
       image_layer([](const Case& c) { return made<nn::AdaptiveAvgPool2d>(c.size2d("output_size")); })},
      {"AdaptiveMaxPool2d",
       image_layer([](const Case& c) { return made<nn::AdaptiveMaxPool2d>(c.size2d("output_size")); })},
      {"leaky_relu", [](const Case& c) { return leaky_relu(c.in(0), c.number("slope")); }},
      {"elu", [](const Case& c) { return elu(c.in(0), c.number("alpha")); }},
      {"hardtanh", [](const Case& c) { return hardtanh(c.in(0), c.number("low"), c.number("high")); }},
      {"relu6", [](const Case& c) { return relu6(c.in(0)); }},
      {"Relu6", image_layer([](const Case&) { return made<nn::Relu6>(); })},
      {"LeakyRelu", image_layer([](const Case& c) { return made<nn::LeakyRelu>(c.number("slope")); })},
      {"Elu", image_layer([](const Case& c) { return made<nn::Elu>(c.number("alpha")); })},
      {"Gelu", image_layer([](const Case&) { return made<nn::Gelu>(); })},
      {"Silu", image_layer([](const Case&) { return made<nn::Silu>(); })},
      {"Softplus", image_layer([](const Case& c) { return made<nn::Softplus>(c.number("beta")); })},
      {"Hardtanh", image_layer([](const Case& c) { return made<nn::Hardtanh>(c.number("low"), c.number("high")); })},
      {"Softmax", image_layer([](const Case& c) { return made<nn::Softmax>(c.dim()); })},
  };
}

}  // namespace troupe::reference
