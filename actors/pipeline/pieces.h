// Splitting the inputs of a pipeline into micro-batches, and joining results of micro-batches.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "autograd/variable.h"
#include "messages/archive.h"
#include "tensor/tensor.h"

namespace troupe::detail {

/// Returns the rows, dimension 0, of a value that is split; nullopt if it is undefined. Throws ShapeError if it has no
/// dimension. `what` names the value: "input 0".
[[nodiscard]] std::optional<std::int64_t> rows_of(const Tensor& value, const std::string& what);
[[nodiscard]] std::optional<std::int64_t> rows_of(const Variable& value, const std::string& what);
template <class T>
[[nodiscard]] std::optional<std::int64_t> rows_of(const std::optional<T>& value, const std::string& what) {
  return value ? rows_of(*value, what) : std::nullopt;
}

/// Returns the parts of `value` that have so many rows each; undefined ones if it is undefined.
[[nodiscard]] std::vector<Tensor> parts_of(const Tensor& value, const std::vector<std::int64_t>& sizes);
[[nodiscard]] std::vector<Variable> parts_of(const Variable& value, const std::vector<std::int64_t>& sizes);
template <class T>
[[nodiscard]] std::vector<std::optional<T>> parts_of(const std::optional<T>& value,
                                                     const std::vector<std::int64_t>& sizes) {
  if (!value) return std::vector<std::optional<T>>(sizes.size());
  std::vector<std::optional<T>> parts;
  for (T& part : parts_of(*value, sizes)) parts.emplace_back(std::move(part));
  return parts;
}

/// True for the types whose values are split: Tensor, Variable and optional ones.
template <class T>
concept Splits = requires(const T& value, const std::string& what) { rows_of(value, what); };

/// Returns whether the values are equal. A value with a NaN is not equal to itself: it is the same as one that travels
/// as the same bytes.
template <class T>
[[nodiscard]] bool is_same(const T& a, const T& b) {
  const auto equal = [](const T& x, const T& y) { return x == y; };
  if (equal(a, b)) return true;
  if (equal(a, a) || equal(b, b)) return false;
  if constexpr (std::is_floating_point_v<T>) {
    return true;
  } else {
    const auto bytes_of = [](const T& value) {
      OutArchive archive(nullptr);
      archive(value);
      return archive.finish().bytes;
    };
    return bytes_of(a) == bytes_of(b);
  }
}

/// Returns the value of a batch from those of its micro-batches: tensors are concatenated; of other types all must be
/// the same. `what` names it: "output 0". Throws TensorError if some are undefined, std::invalid_argument if values
/// differ.
[[nodiscard]] Tensor joined_value(const std::vector<Tensor>& parts, const std::string& what);
[[nodiscard]] Variable joined_value(const std::vector<Variable>& parts, const std::string& what);
[[noreturn]] void fail_not_equal(const std::string& what);
template <Splits T>
[[nodiscard]] std::optional<T> joined_value(const std::vector<std::optional<T>>& parts, const std::string& what) {
  std::vector<T> values;
  for (const auto& part : parts) {
    if (part.has_value() != parts.front().has_value()) fail_not_equal(what);
    if (part) values.push_back(*part);
  }
  return values.empty() ? std::nullopt : std::optional<T>(joined_value(values, what));
}
template <class T>
  requires(!Splits<T>)
[[nodiscard]] T joined_value(const std::vector<T>& parts, const std::string& what) {
  static_assert(std::equality_comparable<T>,
                "results of micro-batches must be tensors, or comparable: then all must be equal");
  for (const T& part : parts) {
    if (!is_same(part, parts.front())) fail_not_equal(what);
  }
  return parts.front();
}

/// As joined_value, for the result of a forward: each element of a tuple by itself.
template <class R>
[[nodiscard]] R joined(const std::vector<R>& parts) {
  return joined_value(parts, "output 0");
}
template <class... Ts>
[[nodiscard]] std::tuple<Ts...> joined(const std::vector<std::tuple<Ts...>>& parts) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto element = [&]<std::size_t J>(std::integral_constant<std::size_t, J>) {
      std::vector<std::tuple_element_t<J, std::tuple<Ts...>>> values;
      for (const auto& part : parts) values.push_back(std::get<J>(part));
      return joined_value(values, "output " + std::to_string(J));
    };
    return std::tuple<Ts...>{element(std::integral_constant<std::size_t, I>{})...};
  }(std::index_sequence_for<Ts...>{});
}

}  // namespace troupe::detail
