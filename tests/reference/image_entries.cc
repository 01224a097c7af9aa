#include "autograd/ops/image.h"
#include "autograd/ops/nn.h"
#include "tests/reference/entries.h"

namespace troupe::reference {
namespace {

UnfoldOptions windows(const Case& c) {
  return {.kernel = c.size2d("kernel"),
          .dilation = c.size2d("dilation"),
          .padding = c.size2d("padding"),
          .stride = c.size2d("stride")};
}

Computed interpolated(const Case& c) {
  const std::string mode = c.text("mode");
  InterpolateOptions options{.align_corners = c.flag("align_corners")};
  if (c.has("size")) options.size = c.integers("size");
  if (c.has("scale")) options.scale = c.numbers("scale");
  if (mode != "nearest") options.mode = mode == "linear" ? InterpolateMode::linear : InterpolateMode::bilinear;
  return interpolate(c.in(0), options);
}

}  // namespace

Entries image_entries() {
  return {
      {"pixel_shuffle", [](const Case& c) { return pixel_shuffle(c.in(0), c.integer("factor")); }},
      {"pixel_unshuffle", [](const Case& c) { return pixel_unshuffle(c.in(0), c.integer("factor")); }},
      {"interpolate", interpolated},
      {"unfold", [](const Case& c) { return unfold(c.in(0), windows(c)); }},
      {"fold", [](const Case& c) { return fold(c.in(0), c.size2d("size"), windows(c)); }},
      {"pairwise_distance", [](const Case& c) { return pairwise_distance(c.in(0), c.in(1), c.number("p")); }},
      {"normalize", [](const Case& c) { return normalize(c.in(0), c.number("p"), c.dim()); }},
  };
}

}  // namespace troupe::reference
