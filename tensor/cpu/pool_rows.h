// Rows of pooling windows in a layout for vectors. Each row of windows becomes one line of numbers that includes the
// padding. Lines are adjacent, so one long loop handles all windows of several rows, even if a row is short.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/kernels/pooling.h"

namespace troupe::cpu {

using kernels::PoolWindows;

/// The sizes of a pooling kernel's loop. Every channel of every image is one plane.
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

/// The lines that regular windows read. Window j of a line starts at its position j * stride.
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

  /// Returns whether lines for such windows are at most a few times as long as the image's rows. Otherwise the caller's
  /// stride or kernel would decide the amount of memory; such windows are computed one by one.
  [[nodiscard]] static bool serve(const PoolWindows& w, std::int64_t width) {
    const std::int64_t most = 4 * width + 64;
    return w.stride > 0 && w.stride <= most && (w.kernel - 1) * w.step < most;
  }

  std::int64_t windows, stride, kernel, step;
  std::int64_t reach;    ///< positions from a window's first element to one past its last
  std::int64_t length;   ///< length of a line, a multiple of the stride
  std::int64_t columns;  ///< number of image columns in a line
  std::int64_t at;       ///< position of the first of them, after the padding

  /// Returns the number of windows of a line, including those that begin where its length was rounded up.
  [[nodiscard]] std::int64_t slots() const { return length / stride; }
  /// Returns how many lines fit into a core's first-level cache, at least 1.
  [[nodiscard]] std::int64_t lines_at_once(std::int64_t rows) const {
    constexpr std::int64_t kElements = 2048;
    return std::clamp<std::int64_t>(kElements / length, 1, rows);
  }
};

}  // namespace troupe::cpu
