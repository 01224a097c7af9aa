#include <optional>
#include <string>

#include "autograd/nn/activation.h"
#include "autograd/nn/conv.h"
#include "autograd/nn/embedding.h"
#include "autograd/nn/linear.h"
#include "autograd/nn/norm.h"
#include "autograd/nn/reshape.h"
#include "autograd/nn/sequential.h"
#include "autograd/nn/state_dict.h"
#include "autograd/ops.h"
#include "tests/reference/entries.h"

namespace troupe::reference {
namespace {

/// Loads parameters and buffers of the case, then applies the layer to its first input.
Computed run(const Case& c, const std::shared_ptr<nn::Layer>& layer) {
  nn::load_state_dict(*layer, c.all("parameter."));
  layer->set_mode(c.flag("train") ? nn::Mode::train : nn::Mode::eval);
  return {layer->forward(c.in(0)), layer};
}

nn::Affine affine(const Case& c) { return c.flag("affine") ? nn::Affine::yes : nn::Affine::no; }

template <class Layer>
Entry batch_norm_entry() {
  return [](const Case& c) {
    const nn::BatchNormLayerOptions options{
        .eps = c.number("eps"),
        .momentum = c.number("momentum"),
        .affine = affine(c),
        .track = c.flag("track") ? nn::TrackStatistics::yes : nn::TrackStatistics::no,
        .dtype = c.dtype()};
    return run(c, std::make_shared<Layer>(c.integer("channels"), options));
  };
}

nn::NormLayerOptions norm_options(const Case& c) {
  return {.eps = c.number("eps"), .affine = affine(c), .dtype = c.dtype()};
}

std::optional<std::int64_t> padding(const Case& c) {
  return c.has("padding") ? std::optional(c.integer("padding")) : std::nullopt;
}

Computed embedding_bag_of(const Case& c) {
  Generator g(1);
  const std::string mode = c.text("mode");
  const EmbeddingBagOptions options{.mode = mode == "sum"    ? BagMode::sum
                                            : mode == "mean" ? BagMode::mean
                                                             : BagMode::max,
                                    .include_last_offset = c.flag("last"),
                                    .padding_idx = padding(c)};
  const auto layer = std::make_shared<nn::EmbeddingBag>(c.integer("rows"), c.integer("width"), g, options, c.dtype());
  nn::load_state_dict(*layer, c.all("parameter."));
  const bool in_rows = c.tensor(0).dim() == 2;
  const std::size_t place = in_rows ? 1 : 2;  // index of the weights
  return {layer->forward(c.tensor(0), in_rows ? Tensor() : c.tensor(1),
                         c.inputs().size() > place ? c.in(place) : Variable()),
          layer};
}

}  // namespace

std::shared_ptr<nn::Sequential> norm_net(DType dtype) {
  Generator g(1);
  const auto conv = [&](std::int64_t in, std::int64_t kernel, nn::Bias bias) {
    return std::make_shared<nn::Conv2d>(in, 4, Size2d{kernel, kernel}, g, Conv2dOptions{}, bias, dtype);
  };
  return nn::sequential(
      conv(1, 3, nn::Bias::no), std::make_shared<nn::BatchNorm2d>(4, nn::BatchNormLayerOptions{.dtype = dtype}),
      std::make_shared<nn::Relu>(), conv(4, 2, nn::Bias::yes),
      std::make_shared<nn::GroupNorm>(2, 4, nn::NormLayerOptions{.dtype = dtype}), std::make_shared<nn::Tanh>(),
      std::make_shared<nn::Flatten>(), std::make_shared<nn::Linear>(24, 3, g, nn::Bias::yes, dtype),
      std::make_shared<nn::LayerNorm>(3, nn::NormLayerOptions{.dtype = dtype}));
}

Entries layer_entries() {
  return {
      {"BatchNorm1d", batch_norm_entry<nn::BatchNorm1d>()},
      {"BatchNorm2d", batch_norm_entry<nn::BatchNorm2d>()},
      {"LayerNorm",
       [](const Case& c) { return run(c, std::make_shared<nn::LayerNorm>(c.shape("sizes"), norm_options(c))); }},
      {"GroupNorm",
       [](const Case& c) {
         return run(c, std::make_shared<nn::GroupNorm>(c.integer("groups"), c.integer("channels"), norm_options(c)));
       }},
      {"InstanceNorm1d",
       [](const Case& c) {
         return run(c, std::make_shared<nn::InstanceNorm1d>(c.integer("channels"), norm_options(c)));
       }},
      {"InstanceNorm2d",
       [](const Case& c) {
         return run(c, std::make_shared<nn::InstanceNorm2d>(c.integer("channels"), norm_options(c)));
       }},
      {"pad_mode",
       [](const Case& c) {
         const std::string mode = c.text("mode");
         return pad(c.in(0), c.integers("amounts"),
                    mode == "reflect"     ? PadMode::reflect
                    : mode == "replicate" ? PadMode::replicate
                                          : PadMode::circular);
       }},
      {"PaddedEmbedding",
       [](const Case& c) {
         Generator g(1);
         const EmbeddingOptions options{.padding_idx = padding(c)};
         return run(c, std::make_shared<nn::Embedding>(c.integer("rows"), c.integer("width"), g, options, c.dtype()));
       }},
      {"EmbeddingBag", embedding_bag_of},
      {"NormNet", [](const Case& c) { return run(c, norm_net(c.dtype())); }},
  };
}

}  // namespace troupe::reference
