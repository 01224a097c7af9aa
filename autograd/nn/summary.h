// A model as a text table.
#pragma once

#include <limits>
#include <string>

#include "autograd/nn/module.h"

namespace troupe::nn {

/// Options of summary().
struct SummaryOptions {
  /// Modules deeper than this are added to the line of the module that contains them. Parts of the model have depth 1.
  int depth_max = std::numeric_limits<int>::max();
};

/// Returns a text of several lines: for each module its name, kind, parameters and buffers with shape, dtype, number of
/// elements, bytes and whether they are frozen; then the totals. A shared module or parameter is shown once.
///
///     Sequential
///       name  kind    tensor  shape   dtype  count  bytes
///       -------------------------------------------------
///       0     Linear  weight  (3, 4)  f32       12   48 B
///                     bias    (3)     f32        3   12 B
///       1     Relu
///       -------------------------------------------------
///       15 parameters (60 B), all trainable
[[nodiscard]] std::string summary(const Module& module, const SummaryOptions& options = {});

}  // namespace troupe::nn
