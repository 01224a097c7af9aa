#include "tensor/decompositions/pad_amounts.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "tensor/checked_size.h"
#include "tensor/error.h"

namespace troupe::detail {
namespace {

/// The elements from `first` to before `last`, which negative amounts leave.
struct Part {
  std::int64_t first;
  std::int64_t last;
  [[nodiscard]] std::int64_t size() const { return std::max(last - first, std::int64_t{0}); }
};

void check(const Shape& shape, int dim, Part part, std::int64_t most, PadMode mode) {
  const std::int64_t size = mode == PadMode::circular ? part.size() : shape[dim];
  const auto refuse = [&](std::string_view what) {
    throw ShapeError(fmt::format("[pad] {} along dimension {} of {}", what, dim, to_string(shape)));
  };
  if (size == 0 && most > 0) refuse("nothing to repeat");
  if (mode == PadMode::reflect && most >= size && most > 0)
    refuse(fmt::format("{} elements reflected off {}", most, size));
  if (mode == PadMode::circular && most > size) refuse(fmt::format("{} elements around {}", most, size));
}

/// Returns the source index of `place`, which may be outside [0, size). What remains goes around; elements that were
/// removed are reflected and repeated still.
std::int64_t source_of(std::int64_t place, std::int64_t size, Part part, PadMode mode) {
  switch (mode) {
    case PadMode::reflect: return place < 0 ? -place : place >= size ? 2 * (size - 1) - place : place;
    case PadMode::replicate: return std::clamp(place, std::int64_t{0}, size - 1);
    case PadMode::circular:
      return place < part.first ? place + part.size() : place >= part.last ? place - part.size() : place;
  }
  throw ValueError(fmt::format("[pad] no mode has the number {}", static_cast<int>(mode)));
}

}  // namespace

std::vector<PadAmounts> pad_amounts(const Tensor& x, const std::vector<std::int64_t>& amounts) {
  x.require_defined("pad");
  if (amounts.size() % 2 != 0 || std::ssize(amounts) / 2 > x.dim()) {
    throw ValueError(
        fmt::format("[pad] {} amounts: two for each of the last dimensions, of {}", amounts.size(), x.dim()));
  }
  std::vector<PadAmounts> all;
  for (std::size_t i = 0; i < amounts.size() / 2; ++i) {
    const PadAmounts one{x.dim() - 1 - static_cast<int>(i), amounts[2 * i], amounts[2 * i + 1]};
    // The further terms check the numbers computed from an amount later: its negation, and positions after it.
    const CheckedSize size = CheckedSize(x.size(one.dim)) + one.before + one.after;
    const bool fits = (CheckedSize(0) - one.before).fits() && (CheckedSize(0) - one.after).fits() &&
                      (size + x.size(one.dim)).fits() && (CheckedSize(x.size(one.dim)) + one.before).fits() &&
                      (CheckedSize(x.size(one.dim)) + one.after).fits();
    if (!fits) {
      throw ShapeError(fmt::format("[pad] size outside of 64 bits: {} with {} before and {} after", x.size(one.dim),
                                   one.before, one.after));
    }
    if (size.value() < 0) throw ShapeError(fmt::format("[pad] size below 0: {}", size.value()));
    if (one.before != 0 || one.after != 0) all.push_back(one);
  }
  return all;
}

Tensor padded_places(const Tensor& x, int dim, std::int64_t before, std::int64_t after, PadMode mode) {
  const std::int64_t size = x.size(dim);
  const Part part{std::max(-before, std::int64_t{0}), size + std::min(after, std::int64_t{0})};
  check(x.shape(), dim, part, std::max(before, after), mode);
  Tensor places = Tensor::empty({before + size + after}, DType::i64);
  for (std::int64_t place = -before; std::int64_t & source : places.mutable_data<std::int64_t>()) {
    source = source_of(place++, size, part, mode);
  }
  return places.to(x.device());
}

}  // namespace troupe::detail
