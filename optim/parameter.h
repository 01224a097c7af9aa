// The interface that optimizers require of parameters. This folder does not know Variable.
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <utility>
#include <vector>

#include "tensor/sparse.h"
#include "tensor/tensor.h"

namespace troupe::optim {

/// A handle of a parameter, such as a Variable. Copies refer to the same parameter.
template <class P>
concept ParameterHandle = std::copyable<P> && requires(const P& parameter, Tensor value) {
  { parameter.value() } -> std::same_as<Tensor>;
  parameter.set_value(std::move(value));
  { parameter.id() } -> std::same_as<const void*>;
  { parameter.is_leaf() } -> std::same_as<bool>;
};

/// A range of pairs (parameter, tensor), such as Gradients.
template <class G>
concept TensorsByParameter = requires(const G& gradients, decltype(*gradients.begin()) entry) {
  { gradients.begin() } -> std::input_iterator;
  { gradients.begin() != gradients.end() } -> std::convertible_to<bool>;
  { entry.first.id() } -> std::same_as<const void*>;
  { entry.second } -> std::convertible_to<const Tensor&>;
};

/// A TensorsByParameter that also returns a sparse gradient where only some rows of a parameter have one.
template <class G>
concept RowsByParameter =
    TensorsByParameter<G> && requires(const G& gradients, typename decltype(gradients.leaves())::value_type parameter) {
      { parameter.id() } -> std::same_as<const void*>;
      { gradients.of(parameter) } -> std::same_as<Tensor>;
      { gradients.sparse_of(parameter) } -> std::same_as<SparseTensor>;
    };

/// Type-erased ParameterHandle. Holds a copy of the handle.
class Parameter {
 public:
  template <class P>
    requires(!std::same_as<P, Parameter> && ParameterHandle<P>)
  Parameter(const P& parameter)  // NOLINT(google-explicit-constructor)
      : id_(parameter.id()),
        is_leaf_(parameter.id() != nullptr && parameter.is_leaf()),
        value_([parameter] { return parameter.value(); }),
        set_value_([parameter](Tensor value) { parameter.set_value(std::move(value)); }) {}

  [[nodiscard]] const void* id() const noexcept { return id_; }
  [[nodiscard]] bool is_leaf() const noexcept { return is_leaf_; }
  [[nodiscard]] Tensor value() const { return value_(); }
  void set_value(Tensor value) const { set_value_(std::move(value)); }

 private:
  const void* id_;
  bool is_leaf_;
  std::function<Tensor()> value_;
  std::function<void(Tensor)> set_value_;
};

/// A list of parameters, made from a vector of Variables or from `{w, b}`.
class Parameters {
 public:
  template <ParameterHandle P>
  Parameters(const std::vector<P>& parameters)  // NOLINT(google-explicit-constructor)
      : all_(parameters.begin(), parameters.end()) {}
  Parameters(std::initializer_list<Parameter> parameters) : all_(parameters) {}

  [[nodiscard]] const std::vector<Parameter>& all() const noexcept { return all_; }

 private:
  std::vector<Parameter> all_;
};

}  // namespace troupe::optim
