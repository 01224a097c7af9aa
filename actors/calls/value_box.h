// A value of any type, with its type's name and, if the type travels, its encoding.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <typeindex>
#include <utility>
#include <vector>

#include "actors/calls/variable_wire.h"
#include "messages/archive.h"
#include "messages/schema.h"

namespace troupe::detail {

/// Where the destructor of a value may run.
enum class ValueEnd : std::uint8_t {
  anywhere,  ///< it runs no code of users and takes no time
  together,  ///< it waits for nothing, but may take time: on the pool, with others
  alone,     ///< it is user code, which may do anything: on the pool, as a job of its own
};

template <class T>
inline constexpr ValueEnd kValueEnd = std::is_trivially_destructible_v<T> ? ValueEnd::anywhere : ValueEnd::alone;
template <>
inline constexpr ValueEnd kValueEnd<std::string> = ValueEnd::together;
template <>
inline constexpr ValueEnd kValueEnd<Tensor> = ValueEnd::together;  // a Variable is alone: its graph may hold hooks
template <class T>
inline constexpr ValueEnd kValueEnd<std::vector<T>> =
    kValueEnd<T> == ValueEnd::alone ? ValueEnd::alone : ValueEnd::together;

/// The operations on a value of unknown type. `save` throws EncodeError{not_serializable} if the type does not travel.
struct ValueOps {
  std::type_index type;
  std::string (*wire_name)();
  void (*save)(OutArchive& archive, const void* value);
  ValueEnd end;
  void (*advance)(void* value) = nullptr;  ///< of a stream: makes its next element; null for others, as is save_element
  void (*save_element)(OutArchive& archive, void* value) = nullptr;  ///< encodes a std::optional of the element
  void (*stop)(void* value) = nullptr;  ///< of a stream: cancels the calls of its function, also while it advances
};

template <class T>
concept StreamLike = requires(T& stream, OutArchive& archive) {
  stream.advance();
  stream.save_element(archive);
  stream.stop();
};

template <class T>
constexpr void set_stream_ops(ValueOps& ops) {
  if constexpr (StreamLike<T>) {
    ops.advance = [](void* value) { static_cast<T*>(value)->advance(); };
    ops.save_element = [](OutArchive& archive, void* value) { static_cast<T*>(value)->save_element(archive); };
    ops.stop = [](void* value) { static_cast<T*>(value)->stop(); };
  }
}

template <class T>
[[nodiscard]] ValueOps make_value_ops() {
  ValueOps ops{std::type_index(typeid(T)), [] { return schema_of<T>(); },
               [](OutArchive& archive, const void* value) {
                 if constexpr (Travels<T>) archive(*static_cast<const T*>(value));
                 else
                   throw EncodeError(ErrorCode::not_serializable,
                                     "[encode] the value has no serialize: it stays where it is");
               },
               kValueEnd<T>};
  set_stream_ops<T>(ops);
  return ops;
}

template <class T>
const ValueOps& value_ops() {
  static const ValueOps ops = make_value_ops<T>();
  return ops;
}

/// A handle: copies share the value. Destroying the last copy runs the value's destructor, where ValueOps::end says.
struct ValueBox {
  std::shared_ptr<void> value;
  const ValueOps* ops = nullptr;

  template <class T>
  static ValueBox of(T value) {
    return {std::make_shared<T>(std::move(value)), &value_ops<T>()};
  }

  /// Returns a box that holds the result of `make()`, constructed in place: the type need not be movable.
  template <class T, class Make>
  static ValueBox made_by(Make&& make) {
    struct Place {
      explicit Place(Make& m) : value(m()) {}
      T value;
    };
    const auto place = std::make_shared<Place>(make);
    return {std::shared_ptr<void>(place, &place->value), &value_ops<T>()};
  }

  /// Returns the value; null if it is of another type.
  template <class T>
  [[nodiscard]] std::shared_ptr<T> as() const {
    if (ops == nullptr || ops->type != std::type_index(typeid(T))) return nullptr;
    return std::static_pointer_cast<T>(value);
  }
};

}  // namespace troupe::detail
