#include "autograd/custom_op.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>

#include "autograd/describe.h"

namespace troupe::detail {
namespace {

/// The required shape, dtype and device of a gradient.
struct Place {
  Shape shape;
  DType dtype = DType::f32;
  Device device = Device::cpu();
};

class CustomFn final : public GradFn {
 public:
  CustomFn(std::string_view name, std::vector<Edge> edges, std::uint32_t results, std::vector<Place> inputs,
           CustomBackward backward)
      : GradFn(name, VertexKind::operation, std::move(edges), results),
        inputs_(std::move(inputs)),
        backward_(std::move(backward)) {}

  [[nodiscard]] std::vector<Tensor> apply(std::vector<Tensor> gradients) const override {
    return apply_to(std::move(gradients), next());
  }

  [[nodiscard]] std::vector<Tensor> apply_to(std::vector<Tensor> gradients,
                                             std::span<const Edge> needed) const override {
    std::vector<Tensor> results = backward_(std::move(gradients), needed);
    for (std::size_t i = 0; i < results.size() && i < inputs_.size(); ++i) {
      const Tensor& result = results[i];
      const Place& input = inputs_[i];
      if (!needed[i] || !result.defined()) continue;
      if (result.shape() == input.shape && result.dtype() == input.dtype && result.device() == input.device) continue;
      throw std::logic_error(fmt::format("the gradient of input {} is {}, not {}", i, describe(result),
                                         describe(input.shape, input.dtype)));
    }
    return results;
  }

 protected:
  void drop_saved() const noexcept override { backward_ = nullptr; }

 private:
  std::vector<Place> inputs_;
  mutable CustomBackward backward_;
};

}  // namespace

std::vector<Variable> custom_op(std::string_view name, std::vector<Tensor> values, std::span<const Variable> inputs,
                                CustomBackward backward) {
  for (const Tensor& value : values) value.require_defined(name);
  std::vector<Variable> results;
  std::vector<Edge> edges = edges_of(inputs);
  if (edges.empty()) {
    for (Tensor& value : values) results.emplace_back(std::move(value));
    return results;
  }
  std::vector<Place> places;
  for (const Variable& input : inputs) {
    const Tensor value = input.defined() ? input.value() : Tensor();
    places.push_back(value.defined() ? Place{value.shape(), value.dtype(), value.device()} : Place{});
  }
  if (values.size() == 1 && !is_floating(values.front().dtype())) {
    throw DTypeError(
        fmt::format("[{}] only floating point values have gradients: {}", name, name_of(values.front().dtype())));
  }
  const auto fn = std::make_shared<const CustomFn>(name, std::move(edges), static_cast<std::uint32_t>(values.size()),
                                                   std::move(places), std::move(backward));
  for (std::uint32_t slot = 0; slot < values.size(); ++slot) {
    Tensor& value = values[slot];
    results.push_back(is_floating(value.dtype()) ? Variable::output_of({fn, slot}, std::move(value))
                                                 : Variable(std::move(value)));
  }
  return results;
}

}  // namespace troupe::detail
