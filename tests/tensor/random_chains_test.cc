// Chains of random operations on random views: the results depend on the values only, not on the layout.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tensor/ops/inplace.h"
#include "tests/tensor/expect.h"
#include "tests/tensor/random_layout.h"
#include "tests/tensor/random_ops.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(random_chains)

namespace {

constexpr std::uint64_t kChains = 3000;
constexpr int kSteps = 8;
constexpr int kFailuresMax = 3;  // the number of printed failures

/// A result, or the reason why there is none.
struct Outcome {
  Tensor value;
  std::string error;
};

Outcome outcome_of(const Step& step, const Operands& operands) {
  try {
    return {step.run(operands), {}};
  } catch (const TensorError& error) {
    return {{}, error.what()};
  }
}

/// Returns whether the bits are equal, where any NaN equals any other.
bool same_but_for_nan_bits(const Tensor& a, const Tensor& b) {
  if (same_bytes(a, b)) return true;
  if (!is_floating(a.dtype()) || a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  return same_bytes(isnan(a), isnan(b)) && same_bytes(masked_fill(a, isnan(a), 0.0), masked_fill(b, isnan(b), 0.0));
}

/// Returns half the distance between neighbouring numbers near 1.
double rounding_of(DType dtype) {
  switch (dtype) {
    case DType::f16: return 0x1p-11;
    case DType::bf16: return 0x1p-8;
    case DType::f32: return 0x1p-24;
    default: return 0x1p-53;
  }
}

/// Returns whether `a` and `b` may be sums of the same terms in different orders. `magnitude` is the sum of the terms'
/// magnitudes. A sum of n terms has an error of at most n roundings of `magnitude`, and the result is rounded once
/// more; n is below 256 here.
bool same_but_for_rounding(const Tensor& a, const Tensor& b, const Tensor& magnitude) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  const Tensor x = a.to(DType::f64).contiguous();
  const Tensor y = b.to(DType::f64).contiguous();
  const Tensor size = magnitude.to(DType::f64).contiguous();
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.numel()); ++i) {
    const double p = x.data<double>()[i];
    const double q = y.data<double>()[i];
    const double bound = 2 * 256 * rounding_of(compute_dtype(a.dtype())) * size.data<double>()[i] +
                         2 * rounding_of(a.dtype()) * std::abs(q);
    const bool same = std::isfinite(p) && std::isfinite(q)
                          ? std::abs(p - q) <= bound
                          : (std::isnan(p) == std::isnan(q)) && (std::isnan(p) || p == q);
    if (!same) return false;
  }
  return true;
}

bool agree(const Step& step, const Outcome& viewed, const Outcome& copied, const Operands& copies) {
  if (viewed.error != copied.error) return false;
  if (!copied.value.defined()) return true;
  if (step.agreement == Agreement::bits) return same_but_for_nan_bits(viewed.value, copied.value);
  Operands sizes;
  for (const Tensor& copy : copies) sizes.push_back(copy.dtype() == DType::boolean ? copy : abs(copy));
  return same_but_for_rounding(viewed.value, copied.value, step.run(sizes));
}

/// Returns the input of the next operation: numbers of moderate size, and not too many.
Tensor tamed(Tensor x, Dice& dice, std::string& text) {
  while (x.numel() > 600 || (x.dim() > 6 && x.numel() > 0)) x = x.select(0, x.size(0) / 2);
  const auto wild = [&] {
    const Tensor wide = x.to(DType::f64);
    return !all(lt(abs(wide), 1000.0)).item<bool>();
  };
  if (x.numel() == 0 ? x.dim() > 6 || dice.one_in(2) : wild()) {
    x = x.numel() == 0 ? random_tensor(random_shape(dice), random_dtype(dice), dice)
                       : random_tensor(x.shape(), x.dtype(), dice);
    text += fmt::format("  new values {}\n", layout_of(x));
  }
  return x;
}

using Counts = std::map<std::string, int>;

/// Runs one chain. Returns the failure with all steps that led to it. `done` counts operations that returned a result.
std::optional<std::string> failure_of_chain(std::uint64_t seed, const std::vector<RandomOp>& ops, Counts& done) {
  Dice dice(seed);
  Tensor x = random_tensor(random_shape(dice), random_dtype(dice), dice);
  std::string text = fmt::format("seed {}\n  {}\n", seed, layout_of(x));
  for (int i = 0; i < kSteps; ++i) {
    for (std::int64_t views = dice.between(0, 2); views > 0; --views) x = random_view(x, dice, text);
    x = tamed(x, dice, text);
    const RandomOp& op = ops[static_cast<std::size_t>(dice.between(0, std::ssize(ops) - 1))];
    const Step step = op.with(x, dice);
    Operands copies;
    text += fmt::format("  {} of\n", step.text);
    for (const Tensor& operand : step.operands) {
      text += fmt::format("    {}\n", layout_of(operand));
      copies.push_back(copied_by_bytes(operand));
    }
    const Outcome viewed = outcome_of(step, step.operands);
    const Outcome copied = outcome_of(step, copies);
    if (!agree(step, viewed, copied, copies)) {
      return text + fmt::format("of the views:\n{}{}\nof copies:\n{}{}\n", viewed.error,
                                viewed.value.defined() ? to_string(viewed.value) : "", copied.error,
                                copied.value.defined() ? to_string(copied.value) : "");
    }
    for (std::size_t n = 0; n < copies.size(); ++n) {
      if (!same_bytes(copied_by_bytes(step.operands[n]), copies[n])) return text + "has changed its operand";
    }
    if (!copied.value.defined()) continue;
    ++done[op.name];
    x = viewed.value;
  }
  return {};
}

/// Returns a random view of some elements of `memory`, none of them twice.
Tensor writable_view(const Tensor& memory, Dice& dice, std::string& text) {
  Tensor view = memory;
  for (std::int64_t views = dice.between(1, 4); views > 0; --views) {
    const Tensor next = random_view(view, dice, text);
    if (next.storage().same_as(memory.storage()) && next.numel() <= view.numel()) view = next;
  }
  return view;
}

struct InPlace {
  std::string name;
  std::function<void(Tensor, const Tensor&)> run;
};

std::vector<InPlace> in_place_ops() {
  return {{"add_", [](Tensor x, const Tensor& y) { add_(x, y, 2.0); }},
          {"sub_", [](Tensor x, const Tensor& y) { sub_(x, y); }},
          {"mul_", [](Tensor x, const Tensor& y) { mul_(x, y); }},
          {"div_", [](Tensor x, const Tensor& y) { div_(x, y); }},
          {"add_ 1", [](Tensor x, const Tensor&) { add_(x, 1.0); }},
          {"clamp_", [](Tensor x, const Tensor&) { clamp_(x, 0.0, 1.0); }},
          {"fill_", [](Tensor x, const Tensor&) { fill_(x, 1.0); }},
          {"zero_", [](Tensor x, const Tensor&) { zero_(x); }},
          {"copy_", [](Tensor x, const Tensor& y) { copy_(x, y); }},
          {"add_into", [](Tensor x, const Tensor& y) { add_into(x, y.to(x.dtype()).expand(x.shape())); }},
          {"scale_into", [](Tensor x, const Tensor&) { scale_into(x, -0.5); }}};
}

/// Returns the bytes of `memory` after the contiguous `elements` are written to the places of `view` one by one.
Tensor memory_after(const Tensor& memory, const Tensor& view, const Tensor& elements) {
  Tensor expected = copied_by_bytes(memory);
  const std::byte* from = elements.bytes();
  std::byte* const to = expected.mutable_bytes();
  for_each_offset(view, [&](std::size_t offset) {
    std::memcpy(to + offset, from, size_of(view.dtype()));
    from += size_of(view.dtype());
  });
  return expected;
}

std::optional<std::string> failure_of_write(std::uint64_t seed, const InPlace& op, Counts& done) {
  Dice dice(seed);
  const DType dtype = random_dtype(dice);
  const Tensor memory = random_values(random_shape(dice), dtype, dice);
  std::string text = fmt::format("seed {}, {}\n  memory {}\n", seed, op.name, layout_of(memory));
  const Tensor view = writable_view(memory, dice, text);
  Shape shape = view.shape();
  for (int d = 0; d < shape.size(); ++d) shape[d] = dice.one_in(4) ? 1 : shape[d];
  const bool shared = view.dim() > 1 && view.size(0) == view.size(1) && dice.one_in(2);
  const Tensor other =
      shared ? view.transpose(0, 1) : random_tensor(shape, dice.one_in(4) ? random_dtype(dice) : dtype, dice);
  text += fmt::format("  other {}\n", layout_of(other));
  const Tensor elements = copied_by_bytes(view);
  const Tensor other_elements = copied_by_bytes(other);
  const auto error_of = [&](const Tensor& x, const Tensor& y) -> std::string {
    try {
      op.run(x, y);
    } catch (const TensorError& error) {
      return error.what();
    }
    return {};
  };
  const Tensor before = copied_by_bytes(memory);
  const std::string expected_error = error_of(elements, other_elements);
  const std::string error = error_of(view, other);
  if (error != expected_error) return text + fmt::format("{}\nof copies:\n{}\n", error, expected_error);
  done[op.name] += error.empty() ? 1 : 0;
  const Tensor expected = error.empty() ? memory_after(before, view, elements) : before;
  if (same_but_for_nan_bits(memory, expected)) return {};
  return text + fmt::format("memory became\n{}\nnot\n{}\n", to_string(memory), to_string(expected));
}

/// Runs `failure_of(seed)` for `count` seeds and reports the first failures.
template <class FailureOf>
int failures_among(std::uint64_t count, const FailureOf& failure_of) {
  int failures = 0;
  for (std::uint64_t seed = 1; seed <= count && failures < kFailuresMax; ++seed) {
    if (const std::optional<std::string> failure = failure_of(seed)) {
      BOOST_ERROR(*failure);
      ++failures;
    }
  }
  return failures;
}

/// Fails if an operation never returned a result: the test would then prove nothing about it.
void expect_results_of(const std::string& name, const Counts& done) {
  const auto found = done.find(name);
  const int count = found == done.end() ? 0 : found->second;
  BOOST_CHECK_MESSAGE(count >= 5, name << " gave only " << count << " results");
}

}  // namespace

BOOST_AUTO_TEST_CASE(operations_on_views_give_what_they_give_on_contiguous_copies) {
  const std::vector<RandomOp> ops = random_ops();
  Counts done;
  const int failures = failures_among(kChains, [&](std::uint64_t seed) { return failure_of_chain(seed, ops, done); });
  if (failures > 0) return;
  for (const RandomOp& op : ops) expect_results_of(op.name, done);
}

BOOST_AUTO_TEST_CASE(operations_in_place_write_the_elements_of_a_view_and_no_others) {
  const std::vector<InPlace> ops = in_place_ops();
  Counts done;
  const int failures =
      failures_among(kChains, [&](std::uint64_t seed) { return failure_of_write(seed, ops[seed % ops.size()], done); });
  if (failures > 0) return;
  for (const InPlace& op : ops) expect_results_of(op.name, done);
}

BOOST_AUTO_TEST_SUITE_END()
