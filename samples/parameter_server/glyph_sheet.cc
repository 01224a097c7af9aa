// Shows what the generated digits look like: `glyph_sheet > sheet.pgm`.
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <vector>

#include "samples/parameter_server/glyphs.h"

int main() {
  constexpr std::int64_t kColumns = 24;
  constexpr std::int64_t kSide = 28;
  constexpr std::int64_t kClasses = 10;
  const samples::Digits digits = samples::draw_glyphs(kColumns * kClasses, 1);
  const auto pixels = digits.images.data<std::uint8_t>();
  const auto labels = digits.labels.data<std::uint8_t>();

  // One row for each digit, filled from the left.
  std::vector<std::uint8_t> sheet(pixels.size());
  std::vector<std::int64_t> drawn(kClasses, 0);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::int64_t left = drawn[labels[i]]++ * kSide;
    for (std::int64_t y = 0; y < kSide; ++y) {
      const auto from = pixels.begin() + (static_cast<std::int64_t>(i) * kSide + y) * kSide;
      std::copy_n(from, kSide, sheet.begin() + (labels[i] * kSide + y) * kColumns * kSide + left);
    }
  }
  std::cout << "P5\n" << kColumns * kSide << ' ' << kClasses * kSide << "\n255\n";
  std::cout.write(reinterpret_cast<const char*>(sheet.data()), static_cast<std::streamsize>(sheet.size()));
  return std::cout.flush() ? 0 : 1;
}
