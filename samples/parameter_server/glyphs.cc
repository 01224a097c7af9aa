#include "samples/parameter_server/glyphs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "tensor/create.h"
#include "tensor/generator.h"

namespace samples {
namespace {

using troupe::Generator;

constexpr int kSide = 28;
constexpr int kPixels = kSide * kSide;

struct Point {
  double x = 0;
  double y = 0;
};
using Stroke = std::vector<Point>;
using Glyph = std::vector<Stroke>;
/// Brightness of each pixel, 0 to 1, row by row.
using Canvas = std::array<double, kPixels>;

double between(double low, double high, Generator& random) { return low + (high - low) * random.uniform(); }
bool chance(double probability, Generator& random) { return random.uniform() < probability; }

/// Part of an ellipse around `center`; degrees grow clockwise from 3 o'clock, since y points down.
Stroke arc(Point center, Point radius, double from, double to) {
  constexpr double kStep = 15;
  const int steps = std::max(2, static_cast<int>(std::ceil(std::abs(to - from) / kStep)));
  Stroke stroke;
  for (int i = 0; i <= steps; ++i) {
    const double angle = (from + (to - from) * i / steps) * std::numbers::pi / 180;
    stroke.push_back({center.x + radius.x * std::cos(angle), center.y + radius.y * std::sin(angle)});
  }
  return stroke;
}

/// A quadratic Bezier curve.
Stroke curve(Point from, Point control, Point to) {
  constexpr int kSteps = 6;
  Stroke stroke;
  for (int i = 0; i <= kSteps; ++i) {
    const double t = static_cast<double>(i) / kSteps;
    const double a = (1 - t) * (1 - t);
    const double b = 2 * t * (1 - t);
    const double c = t * t;
    stroke.push_back({a * from.x + b * control.x + c * to.x, a * from.y + b * control.y + c * to.y});
  }
  return stroke;
}

/// One stroke made of several drawn without lifting the pen.
Stroke joined(Stroke first, const Stroke& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Glyph one(Generator& random) {
  Glyph glyph{{{0.05, -0.7}, {0.05, 0.7}}};
  if (chance(0.5, random)) glyph.push_back({{0.05, -0.7}, {-0.25, -0.42}});
  if (chance(0.3, random)) glyph.push_back({{-0.27, 0.7}, {0.37, 0.7}});
  return glyph;
}

Glyph four(Generator& random) {
  if (chance(0.5, random)) return {{{0.15, -0.7}, {-0.42, 0.22}, {0.45, 0.22}}, {{0.17, -0.7}, {0.17, 0.7}}};
  return {{{-0.32, -0.65}, {-0.4, 0.12}, {0.42, 0.12}}, {{0.22, -0.62}, {0.2, 0.7}}};
}

Glyph seven(Generator& random) {
  Glyph glyph{{{-0.42, -0.7}, {0.42, -0.7}, {-0.1, 0.7}}};
  if (chance(0.35, random)) glyph.push_back({{-0.2, 0.02}, {0.36, 0.02}});
  return glyph;
}

Glyph nine(Generator& random) {
  const Stroke loop = arc({0, -0.3}, {0.38, 0.4}, 360, 0);
  if (chance(0.5, random)) return {loop, {{0.38, -0.3}, {0.3, 0.7}}};
  return {loop, curve({0.38, -0.3}, {0.42, 0.7}, {-0.25, 0.7})};
}

/// The strokes of `digit` in the box x -0.45 ... 0.45, y -0.7 ... 0.7, in one of its handwritten forms.
Glyph strokes_of(int digit, Generator& random) {
  switch (digit) {
    case 0: return {arc({0, 0}, {0.42, 0.68}, -90, 270)};
    case 1: return one(random);
    case 2: return {joined(arc({0, -0.32}, {0.4, 0.38}, 190, 395), {{-0.42, 0.7}, {0.45, 0.7}})};
    case 3: return {joined(arc({-0.02, -0.35}, {0.36, 0.35}, 200, 440), arc({-0.02, 0.34}, {0.42, 0.36}, 280, 520))};
    case 4: return four(random);
    case 5: return {joined({{0.4, -0.7}, {-0.3, -0.7}, {-0.36, -0.1}}, arc({-0.02, 0.25}, {0.42, 0.45}, 225, 510))};
    case 6:
      return {joined(curve({0.28, -0.7}, {-0.42, -0.45}, {-0.42, 0.28}), arc({0, 0.28}, {0.42, 0.42}, 180, -180))};
    case 7: return seven(random);
    case 8: return {arc({0, -0.36}, {0.33, 0.33}, 90, 450), arc({0, 0.34}, {0.42, 0.36}, -90, 270)};
    default: return nine(random);
  }
}

/// How one image's strokes are bent, turned, stretched and moved.
class Distortion {
 public:
  explicit Distortion(Generator& random) {
    const double angle = between(-0.2, 0.2, random);
    const double shear = between(-0.2, 0.2, random);
    const double height = between(8.5, 10.5, random);
    const double width = height * between(0.9, 1.3, random);
    xx_ = width * std::cos(angle);
    xy_ = height * (shear * std::cos(angle) - std::sin(angle));
    yx_ = width * std::sin(angle);
    yy_ = height * (shear * std::sin(angle) + std::cos(angle));
    shift_ = {between(-2.75, 2.75, random), between(-2.75, 2.75, random)};
    for (Wave& wave : waves_) {
      wave.amplitude = between(-0.06, 0.06, random);
      wave.along_x = between(-4, 4, random);
      wave.along_y = between(-4, 4, random);
      wave.phase = between(0, 2 * std::numbers::pi, random);
    }
  }

  /// From the glyph's box to pixels, the image's middle being (14, 14).
  [[nodiscard]] Point operator()(Point p) const {
    const Point bent{p.x + waves_[0].at(p), p.y + waves_[1].at(p)};
    return {kSide / 2.0 + shift_.x + xx_ * bent.x + xy_ * bent.y, kSide / 2.0 + shift_.y + yx_ * bent.x + yy_ * bent.y};
  }

 private:
  struct Wave {
    double amplitude = 0;
    double along_x = 0;
    double along_y = 0;
    double phase = 0;
    [[nodiscard]] double at(Point p) const { return amplitude * std::sin(along_x * p.x + along_y * p.y + phase); }
  };

  double xx_ = 0;
  double xy_ = 0;
  double yx_ = 0;
  double yy_ = 0;
  Point shift_;
  std::array<Wave, 2> waves_;
};

double distance_to_segment(Point p, Point a, Point b) {
  const Point along{b.x - a.x, b.y - a.y};
  const double length2 = along.x * along.x + along.y * along.y;
  const double t = length2 == 0 ? 0 : std::clamp(((p.x - a.x) * along.x + (p.y - a.y) * along.y) / length2, 0.0, 1.0);
  return std::hypot(p.x - a.x - t * along.x, p.y - a.y - t * along.y);
}

/// Draws with a round pen of `radius` pixels; where lines cross, the brighter one counts.
void draw_segment(Point a, Point b, double radius, double brightness, Canvas& canvas) {
  const auto limit = [](double v) { return static_cast<int>(std::clamp(v, 0.0, kSide - 1.0)); };
  const double reach = radius + 1;
  const int left = limit(std::min(a.x, b.x) - reach);
  const int right = limit(std::max(a.x, b.x) + reach);
  const int bottom = limit(std::max(a.y, b.y) + reach);
  for (int y = limit(std::min(a.y, b.y) - reach); y <= bottom; ++y) {
    for (int x = left; x <= right; ++x) {
      const double ink = std::clamp(radius + 0.5 - distance_to_segment({x + 0.5, y + 0.5}, a, b), 0.0, 1.0);
      double& pixel = canvas[static_cast<std::size_t>(y * kSide + x)];
      pixel = std::max(pixel, ink * brightness);
    }
  }
}

/// Short lines that belong to nothing.
void draw_clutter(Canvas& canvas, Generator& random) {
  const auto lines = random.below(3);
  for (std::uint64_t i = 0; i < lines; ++i) {
    const Point from{between(0, kSide, random), between(0, kSide, random)};
    const Point to{from.x + between(-5, 5, random), from.y + between(-5, 5, random)};
    const double radius = between(0.3, 0.9, random);
    draw_segment(from, to, radius, between(0.3, 0.9, random), canvas);
  }
}

/// Adds noise and writes bytes.
void develop(const Canvas& canvas, std::span<std::uint8_t> image, Generator& random) {
  const double level = between(0, 0.06, random);
  std::array<std::uint32_t, 4> bits{};
  for (std::size_t i = 0; i < image.size(); ++i) {
    if (i % 4 == 0) bits = random.next_block();
    const double noise = level * (static_cast<double>(bits[i % 4]) * 0x1p-31 - 1);
    image[i] = static_cast<std::uint8_t>(std::lround(255 * std::clamp(canvas[i] + noise, 0.0, 1.0)));
  }
}

void draw_digit(int digit, std::span<std::uint8_t> image, Generator& random) {
  Canvas canvas{};
  draw_clutter(canvas, random);
  const Glyph glyph = strokes_of(digit, random);
  const Distortion distort(random);
  const double radius = between(1.1, 1.8, random);
  const double brightness = between(0.85, 1.0, random);
  for (const Stroke& stroke : glyph) {
    for (std::size_t i = 1; i < stroke.size(); ++i) {
      draw_segment(distort(stroke[i - 1]), distort(stroke[i]), radius, brightness, canvas);
    }
  }
  develop(canvas, image, random);
}

}  // namespace

Digits draw_glyphs(std::int64_t count, std::uint64_t seed) {
  Digits digits{troupe::empty({count, kSide, kSide}, troupe::DType::u8), troupe::empty({count}, troupe::DType::u8)};
  const std::span<std::uint8_t> images = digits.images.mutable_data<std::uint8_t>();
  const std::span<std::uint8_t> labels = digits.labels.mutable_data<std::uint8_t>();
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::uint8_t>(i % 10);
  Generator order(seed);
  for (std::size_t i = labels.size(); i > 1; --i) std::swap(labels[i - 1], labels[order.below(i)]);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    Generator random(seed, i + 1);
    draw_digit(labels[i], images.subspan(i * kPixels, kPixels), random);
  }
  return digits;
}

DigitData glyph_data(std::uint64_t seed) {
  // The golden ratio's bits keep the held-out seed apart from every other seed that someone may pick.
  return {draw_glyphs(10'000, seed), draw_glyphs(2'000, seed ^ 0x9e3779b97f4a7c15)};
}

}  // namespace samples
