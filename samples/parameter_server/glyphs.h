// Digit images for a machine without network and without MNIST: stroke by stroke, each one distorted differently.
#pragma once

#include <cstdint>

#include "samples/parameter_server/mnist.h"

namespace samples {

/// Returns `count` digits, all classes equally often (up to one) and in random order. Every image is drawn with its own
/// variant, position, size, rotation, shear, bend, pen width and brightness, on a background of noise and stray
/// strokes, so that no pixel means much by itself: a network must find the shape. Equal seeds give equal images.
[[nodiscard]] Digits draw_glyphs(std::int64_t count, std::uint64_t seed);

/// Returns 10,000 digits to train on and 2,000 held out, whose distortions come from another seed.
[[nodiscard]] DigitData glyph_data(std::uint64_t seed = 1);

}  // namespace samples
