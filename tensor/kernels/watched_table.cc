// The kernels of a device under the eyes of a ComputeWatcher: each tells it when it has run.
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tensor/compute_watcher.h"
#include "tensor/kernels/table.h"

namespace troupe::kernels {
namespace {

// The names of the enumerators, in their order.
constexpr auto kUnaryOpNames = std::to_array<std::string_view>(
    {"neg",  "abs",  "sign",    "relu", "floor",     "ceil",  "round", "trunc",   "exp",   "expm1",
     "exp2", "log",  "log1p",   "log2", "log10",     "logit", "sqrt",  "rsqrt",   "sin",   "cos",
     "tan",  "asin", "acos",    "atan", "sinh",      "cosh",  "tanh",  "asinh",   "acosh", "atanh",
     "erf",  "erfc", "sigmoid", "gelu", "gelu_tanh", "silu",  "mish",  "softplus"});
static_assert(kUnaryOpNames.size() == static_cast<std::size_t>(UnaryOp::softplus) + 1);

constexpr auto kBinaryOpNames = std::to_array<std::string_view>({"add",
                                                                 "sub",
                                                                 "mul",
                                                                 "maximum",
                                                                 "minimum",
                                                                 "fmod",
                                                                 "remainder",
                                                                 "floor_divide",
                                                                 "bit_and",
                                                                 "bit_or",
                                                                 "bit_xor",
                                                                 "left_shift",
                                                                 "right_shift",
                                                                 "div",
                                                                 "copysign",
                                                                 "pow",
                                                                 "atan2",
                                                                 "hypot",
                                                                 "logaddexp",
                                                                 "xlogy",
                                                                 "relu_backward",
                                                                 "tanh_backward",
                                                                 "sigmoid_backward",
                                                                 "gelu_backward",
                                                                 "gelu_tanh_backward",
                                                                 "silu_backward",
                                                                 "mish_backward",
                                                                 "softplus_backward"});
static_assert(kBinaryOpNames.size() == static_cast<std::size_t>(BinaryOp::softplus_backward) + 1);

constexpr auto kCompareOpNames = std::to_array<std::string_view>({"eq", "ne", "lt", "le"});
static_assert(kCompareOpNames.size() == static_cast<std::size_t>(CompareOp::le) + 1);

constexpr auto kReduceOpNames = std::to_array<std::string_view>({"sum", "mean", "prod", "max", "min"});
static_assert(kReduceOpNames.size() == static_cast<std::size_t>(ReduceOp::min) + 1);

constexpr auto kPiecewiseOpNames = std::to_array<std::string_view>(
    {"leaky_relu", "elu", "celu", "selu", "softshrink", "hardshrink", "hardsigmoid", "hardswish"});
static_assert(kPiecewiseOpNames.size() == static_cast<std::size_t>(PiecewiseOp::hardswish) + 1);

/// Returns the name of a kernel whose first argument says what it computes; otherwise `kernel`.
template <class First>
std::string_view name_of(std::string_view kernel, const First& /*first*/) {
  return kernel;
}
std::string_view name_of(std::string_view, UnaryOp op) { return kUnaryOpNames.at(static_cast<std::size_t>(op)); }
std::string_view name_of(std::string_view, BinaryOp op) { return kBinaryOpNames.at(static_cast<std::size_t>(op)); }
std::string_view name_of(std::string_view, CompareOp op) { return kCompareOpNames.at(static_cast<std::size_t>(op)); }
std::string_view name_of(std::string_view, ReduceOp op) { return kReduceOpNames.at(static_cast<std::size_t>(op)); }
std::string_view name_of(std::string_view kernel, PiecewiseOp op) {
  return kernel == "piecewise" ? kPiecewiseOpNames.at(static_cast<std::size_t>(op)) : kernel;
}

/// A text as a template argument.
template <std::size_t kSize>
struct Text {
  constexpr Text(const char (&text)[kSize]) {
    for (std::size_t i = 0; i < kSize; ++i) characters[i] = text[i];
  }
  char characters[kSize];
};

template <DeviceKind kKind>
const KernelTable& unwatched() {
  return kKind == DeviceKind::cpu ? cpu::kernel_table() : cuda::kernel_table(Device::cuda(0));
}

template <class Parameter>
constexpr bool kIsInput = std::is_same_v<Parameter, const Tensor&>;

/// The kernel `kMember` of a device, which tells the thread's watcher.
template <auto kMember, DeviceKind kKind, Text kName>
struct Watched;

template <class Family, class Result, class... Parameters, Result (*Family::*kMember)(Parameters...), DeviceKind kKind,
          Text kName>
struct Watched<kMember, kKind, kName> {
  static Result run(Parameters... parameters) {
    std::array<const Tensor*, sizeof...(Parameters)> inputs{};
    std::size_t count = 0;
    const auto note = [&]<class Parameter>(const auto& parameter, std::type_identity<Parameter>) {
      if constexpr (kIsInput<Parameter>) inputs.at(count++) = &parameter;
    };
    (note(parameters, std::type_identity<Parameters>()), ...);
    const WatchedKernel watched(named(parameters...), std::span(inputs).first(count));
    return (unwatched<kKind>().*kMember)(std::forward<Parameters>(parameters)...);
  }

 private:
  template <class First>
  static std::string_view named(const First& first, const auto&... /*others*/) {
    return name_of(std::string_view(kName.characters), first);
  }
};

// A list, since the members of a struct cannot be enumerated. It has each of them once: one that stands there twice is
// declared twice, and all are counted.
#define TROUPE_WATCHED(member)                                             \
  [[maybe_unused]] constexpr std::size_t number_of_##member = __COUNTER__; \
  table.member = Watched<&KernelTable::member, kKind, #member>::run
template <DeviceKind kKind>
KernelTable watched() {
  KernelTable table = unwatched<kKind>();
  constexpr std::size_t kNumbersBefore = __COUNTER__;
  TROUPE_WATCHED(weight_of_targets);
  TROUPE_WATCHED(nll);
  TROUPE_WATCHED(nll_backward);
  TROUPE_WATCHED(cross_entropy);
  TROUPE_WATCHED(cross_entropy_backward);
  TROUPE_WATCHED(sum_by_number);
  TROUPE_WATCHED(ascends);
  TROUPE_WATCHED(convolve);
  TROUPE_WATCHED(convolve_backward_input);
  TROUPE_WATCHED(convolve_backward_weight);
  TROUPE_WATCHED(convolve_backward);
  TROUPE_WATCHED(unary);
  TROUPE_WATCHED(binary_tensors);
  TROUPE_WATCHED(binary_number_right);
  TROUPE_WATCHED(binary_number_left);
  TROUPE_WATCHED(compare);
  TROUPE_WATCHED(select);
  TROUPE_WATCHED(axpby);
  TROUPE_WATCHED(convert);
  TROUPE_WATCHED(fill);
  TROUPE_WATCHED(bag_mean_scales);
  TROUPE_WATCHED(bag_sum);
  TROUPE_WATCHED(bag_max);
  TROUPE_WATCHED(bag_add);
  TROUPE_WATCHED(bag_values);
  TROUPE_WATCHED(bag_max_add);
  TROUPE_WATCHED(bag_max_values);
  TROUPE_WATCHED(bag_scales_backward);
  TROUPE_WATCHED(gather);
  TROUPE_WATCHED(scatter_add);
  TROUPE_WATCHED(scatter);
  TROUPE_WATCHED(sum_of_powers);
  TROUPE_WATCHED(largest_magnitude);
  TROUPE_WATCHED(take);
  TROUPE_WATCHED(put_add);
  TROUPE_WATCHED(pick);
  TROUPE_WATCHED(place);
  TROUPE_WATCHED(all_inside);
  TROUPE_WATCHED(matmul);
  TROUPE_WATCHED(batch_norm);
  TROUPE_WATCHED(batch_norm_backward);
  TROUPE_WATCHED(group_norm);
  TROUPE_WATCHED(group_norm_backward);
  TROUPE_WATCHED(order_last);
  TROUPE_WATCHED(pair_loss);
  TROUPE_WATCHED(pair_loss_sum);
  TROUPE_WATCHED(pair_loss_backward);
  TROUPE_WATCHED(all_probabilities);
  TROUPE_WATCHED(piecewise);
  TROUPE_WATCHED(piecewise_backward);
  TROUPE_WATCHED(between);
  TROUPE_WATCHED(max_pool);
  TROUPE_WATCHED(max_pool_backward);
  TROUPE_WATCHED(max_pool_backward_of_windows);
  TROUPE_WATCHED(avg_pool);
  TROUPE_WATCHED(avg_pool_backward);
  TROUPE_WATCHED(draw_reals);
  TROUPE_WATCHED(draw_integers);
  TROUPE_WATCHED(draw_dropout_mask);
  TROUPE_WATCHED(recurrent);
  TROUPE_WATCHED(recurrent_backward);
  TROUPE_WATCHED(reduce);
  TROUPE_WATCHED(argument_last);
  TROUPE_WATCHED(cumsum);
  TROUPE_WATCHED(cumprod);
  TROUPE_WATCHED(cumulative_argument);
  TROUPE_WATCHED(search);
  TROUPE_WATCHED(softmax);
  TROUPE_WATCHED(softmax_backward);
  TROUPE_WATCHED(update);
  constexpr std::size_t kListed = __COUNTER__ - kNumbersBefore - 1;
  static_assert(sizeof(KernelTable) == kListed * sizeof(void (*)()), "a kernel of the table is not listed above");
  return table;
}
#undef TROUPE_WATCHED

}  // namespace

const KernelTable& watched_table(Device device) {
  if (device.kind == DeviceKind::cpu) {
    static const KernelTable table = watched<DeviceKind::cpu>();
    return table;
  }
  static_cast<void>(cuda::kernel_table(device));  // throws in a build without CUDA
  static const KernelTable table = watched<DeviceKind::cuda>();
  return table;
}

}  // namespace troupe::kernels
