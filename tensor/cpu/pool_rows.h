// Rows of windows laid out for vectors: each row of windows becomes one line of numbers, with room for the padding, and
// lines follow each other, so that one long loop serves all windows of several rows, however short a row is.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/kernels/pooling.h"

namespace troupe::cpu {

using kernels::PoolWindows;

/// The sizes that a kernel runs over: images of single channels, which it takes one after the other.
struct PoolPlanes {
  PoolPlanes(const Tensor& in, const Tensor& out)
      : count(in.size(0) * in.size(1)),
        height(in.size(2)),
        width(in.size(3)),
        rows(out.size(2)),
        columns(out.size(3)) {}
  std::int64_t count, height, width, rows, columns;

  [[nodiscard]] std::int64_t in_size() const { return height * width; }
  [[nodiscard]] std::int64_t out_size() const { return rows * columns; }
};

/// The lines that regular windows are taken from. Window j of a line starts at position j * stride of it.
struct PoolLines {
  PoolLines(const PoolWindows& w, std::int64_t width)
      : windows(w.count()),
        stride(w.stride),
        kernel(w.kernel),
        step(w.step),
        reach((w.kernel - 1) * w.step + 1),
        length((std::max(w.count() * w.stride, (w.count() - 1) * w.stride + reach) + w.stride - 1) / w.stride *
               w.stride),
        columns(std::min(width, w.first + length)),
        at(-w.first) {}

  /// Whether lines for such windows are at most a few times as long as those of the image. The memory of others would
  /// follow the stride or the kernel that somebody asked for; they are taken one by one.
  [[nodiscard]] static bool serve(const PoolWindows& w, std::int64_t width) {
    const std::int64_t most = 4 * width + 64;
    return w.stride > 0 && w.stride <= most && (w.kernel - 1) * w.step < most;
  }

  std::int64_t windows, stride, kernel, step;
  std::int64_t reach;    ///< positions from the first element of a window to behind its last
  std::int64_t length;   ///< of a line, a multiple of the stride
  std::int64_t columns;  ///< so many columns of the image are in a line ...
  std::int64_t at;       ///< ... from this position on, behind the padding

  /// Windows of a line, with those that are begun in what its length was rounded up by.
  [[nodiscard]] std::int64_t slots() const { return length / stride; }
  /// How many lines stay in a core's first cache, at least one.
  [[nodiscard]] std::int64_t lines_at_once(std::int64_t rows) const {
    constexpr std::int64_t kElements = 2048;
    return std::clamp<std::int64_t>(kElements / length, 1, rows);
  }
};

}  // namespace troupe::cpu
