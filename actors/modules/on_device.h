// Moves the tensors in a function's arguments or result between devices, with their gradients.
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

/// Calls `move` on each Tensor and Variable in `value`: itself, or inside vectors, arrays, optionals, pairs, tuples and
/// the values of maps. Those in other types stay where they are.
template <class T, class Move>
void move_tensors(T& value, const Move& move);

template <class T>
struct TensorsIn {
  template <class Move>
  static void each(T& /*value*/, const Move& /*move*/) {}
};
template <class T, class Move>
void move_one(T& tensor, const Move& move) {
  if (!tensor.defined()) return;
  const Device home = tensor.device();
  if (const Device target = move(home); target != home) tensor = tensor.to(target);
}
template <>
struct TensorsIn<Tensor> {
  template <class Move>
  static void each(Tensor& tensor, const Move& move) {
    move_one(tensor, move);
  }
};
template <>
struct TensorsIn<Variable> {
  template <class Move>
  static void each(Variable& variable, const Move& move) {
    move_one(variable, move);
  }
};
template <class List>
struct TensorsInEach {
  template <class Move>
  static void each(List& list, const Move& move) {
    for (auto& value : list) move_tensors(value, move);
  }
};
template <class T, class A>
struct TensorsIn<std::vector<T, A>> : TensorsInEach<std::vector<T, A>> {};
template <class A>
struct TensorsIn<std::vector<bool, A>> {
  template <class Move>
  static void each(std::vector<bool, A>& /*bits*/, const Move& /*move*/) {}
};
template <class T, std::size_t N>
struct TensorsIn<std::array<T, N>> : TensorsInEach<std::array<T, N>> {};
template <class T>
struct TensorsIn<std::optional<T>> {
  template <class Move>
  static void each(std::optional<T>& value, const Move& move) {
    if (value) move_tensors(*value, move);
  }
};
template <class... Ts>
struct TensorsIn<std::tuple<Ts...>> {
  template <class Move>
  static void each(std::tuple<Ts...>& values, const Move& move) {
    std::apply([&](auto&... value) { (move_tensors(value, move), ...); }, values);
  }
};
template <class A, class B>
struct TensorsIn<std::pair<A, B>> {
  template <class Move>
  static void each(std::pair<A, B>& values, const Move& move) {
    move_tensors(values.first, move);
    move_tensors(values.second, move);
  }
};
template <class K, class V, class C, class A>
struct TensorsIn<std::map<K, V, C, A>> {
  template <class Move>
  static void each(std::map<K, V, C, A>& values, const Move& move) {
    for (auto& [key, value] : values) move_tensors(value, move);
  }
};

template <class T, class Move>
void move_tensors(T& value, const Move& move) {
  TensorsIn<T>::each(value, move);
}

}  // namespace troupe::detail
