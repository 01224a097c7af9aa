// Visits the tensors in a function's arguments or result: to move them between devices, with their gradients.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "autograd/variable.h"
#include "tensor/device.h"
#include "tensor/tensor.h"

namespace troupe::detail {

/// Calls `visit` on each Tensor and Variable in `value`: itself, or inside vectors, arrays, optionals, pairs, tuples
/// and the values of maps, in this order. Those in other types are not visited.
template <class T, class Visit>
void visit_tensors(T& value, const Visit& visit);

template <class T>
struct TensorsIn {
  template <class Visit>
  static void each(T& /*value*/, const Visit& /*visit*/) {}
};
template <>
struct TensorsIn<Tensor> {
  template <class Visit>
  static void each(Tensor& tensor, const Visit& visit) {
    visit(tensor);
  }
};
template <>
struct TensorsIn<Variable> {
  template <class Visit>
  static void each(Variable& variable, const Visit& visit) {
    visit(variable);
  }
};
template <class List>
struct TensorsInEach {
  template <class Visit>
  static void each(List& list, const Visit& visit) {
    for (auto& value : list) visit_tensors(value, visit);
  }
};
template <class T, class A>
struct TensorsIn<std::vector<T, A>> : TensorsInEach<std::vector<T, A>> {};
template <class A>
struct TensorsIn<std::vector<bool, A>> {
  template <class Visit>
  static void each(std::vector<bool, A>& /*bits*/, const Visit& /*visit*/) {}
};
template <class T, std::size_t N>
struct TensorsIn<std::array<T, N>> : TensorsInEach<std::array<T, N>> {};
template <class T>
struct TensorsIn<std::optional<T>> {
  template <class Visit>
  static void each(std::optional<T>& value, const Visit& visit) {
    if (value) visit_tensors(*value, visit);
  }
};
template <class... Ts>
struct TensorsIn<std::tuple<Ts...>> {
  template <class Visit>
  static void each(std::tuple<Ts...>& values, const Visit& visit) {
    std::apply([&](auto&... value) { (visit_tensors(value, visit), ...); }, values);
  }
};
template <class A, class B>
struct TensorsIn<std::pair<A, B>> {
  template <class Visit>
  static void each(std::pair<A, B>& values, const Visit& visit) {
    visit_tensors(values.first, visit);
    visit_tensors(values.second, visit);
  }
};
template <class K, class V, class C, class A>
struct TensorsIn<std::map<K, V, C, A>> {
  template <class Visit>
  static void each(std::map<K, V, C, A>& values, const Visit& visit) {
    for (auto& [key, value] : values) visit_tensors(value, visit);
  }
};

template <class T, class Visit>
void visit_tensors(T& value, const Visit& visit) {
  TensorsIn<T>::each(value, visit);
}

/// Moves each visited tensor that is defined to the device that `move` returns for its own.
template <class T, class Move>
void move_tensors(T& value, const Move& move) {
  visit_tensors(value, [&](auto& tensor) {
    if (!tensor.defined()) return;
    const Device home = tensor.device();
    if (const Device target = move(home); target != home) tensor = tensor.to(target);
  });
}

}  // namespace troupe::detail
