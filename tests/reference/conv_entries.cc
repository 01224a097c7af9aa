#include "autograd/ops/conv.h"
#include "autograd/ops/pool.h"
#include "tests/reference/entries.h"

namespace troupe::reference {
namespace {

Variable bias(const Case& c) { return c.inputs().size() > 2 ? c.in(2) : Variable(); }

Variable conv1d_of(const Case& c) {
  return conv1d(c.in(0), c.in(1), bias(c),
                {.stride = c.integer("stride"),
                 .padding = c.integer("padding"),
                 .dilation = c.integer("dilation"),
                 .groups = c.integer("groups")});
}

Variable conv2d_of(const Case& c) {
  return conv2d(c.in(0), c.in(1), bias(c),
                {.stride = c.size2d("stride"),
                 .padding = c.size2d("padding"),
                 .dilation = c.size2d("dilation"),
                 .groups = c.integer("groups")});
}

Variable conv_transpose1d_of(const Case& c) {
  return conv_transpose1d(c.in(0), c.in(1), bias(c),
                          {.stride = c.integer("stride"),
                           .padding = c.integer("padding"),
                           .output_padding = c.integer("output_padding"),
                           .dilation = c.integer("dilation"),
                           .groups = c.integer("groups")});
}

Variable conv_transpose2d_of(const Case& c) {
  return conv_transpose2d(c.in(0), c.in(1), bias(c),
                          {.stride = c.size2d("stride"),
                           .padding = c.size2d("padding"),
                           .output_padding = c.size2d("output_padding"),
                           .dilation = c.size2d("dilation"),
                           .groups = c.integer("groups")});
}

Variable max_pool1d_of(const Case& c) {
  return max_pool1d(c.in(0), {.kernel = c.integer("kernel_size"),
                              .stride = c.integer("stride"),
                              .padding = c.integer("padding"),
                              .dilation = c.integer("dilation"),
                              .ceil_mode = c.flag("ceil_mode")});
}

Variable max_pool2d_of(const Case& c) {
  return max_pool2d(c.in(0), {.kernel = c.size2d("kernel_size"),
                              .stride = c.size2d("stride"),
                              .padding = c.size2d("padding"),
                              .dilation = c.size2d("dilation"),
                              .ceil_mode = c.flag("ceil_mode")});
}

Variable avg_pool1d_of(const Case& c) {
  return avg_pool1d(c.in(0), {.kernel = c.integer("kernel_size"),
                              .stride = c.integer("stride"),
                              .padding = c.integer("padding"),
                              .ceil_mode = c.flag("ceil_mode"),
                              .count_include_pad = c.flag("count_include_pad")});
}

Variable avg_pool2d_of(const Case& c) {
  return avg_pool2d(c.in(0), {.kernel = c.size2d("kernel_size"),
                              .stride = c.size2d("stride"),
                              .padding = c.size2d("padding"),
                              .ceil_mode = c.flag("ceil_mode"),
                              .count_include_pad = c.flag("count_include_pad")});
}

}  // namespace

Entries conv_entries() {
  return {
      {"conv1d", conv1d_of},
      {"grouped_conv2d", conv2d_of},
      {"conv_transpose1d", conv_transpose1d_of},
      {"conv_transpose2d", conv_transpose2d_of},
      {"max_pool1d", max_pool1d_of},
      {"dilated_max_pool2d", max_pool2d_of},
      {"avg_pool1d", avg_pool1d_of},
      {"avg_pool2d", avg_pool2d_of},
      {"adaptive_avg_pool1d", [](const Case& c) { return adaptive_avg_pool1d(c.in(0), c.integer("output_size")); }},
      {"adaptive_avg_pool2d", [](const Case& c) { return adaptive_avg_pool2d(c.in(0), c.size2d("output_size")); }},
      {"adaptive_max_pool2d", [](const Case& c) { return adaptive_max_pool2d(c.in(0), c.size2d("output_size")); }},
  };
}

}  // namespace troupe::reference
