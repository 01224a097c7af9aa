// A value of any wire type, with what is needed to send it and to name it.
#pragma once

#include <memory>
#include <string>
#include <typeindex>
#include <utility>

#include "actors/payload_io.h"
#include "messages/schema.h"

namespace troupe::detail {

/// What the runtime can do with a value whose type it does not know.
struct ValueOps {
  std::type_index type;
  void (*save)(OutArchive& archive, const void* value);
};

template <class T>
const ValueOps& value_ops() {
  static const ValueOps ops{std::type_index(typeid(T)),
                            [](OutArchive& archive, const void* value) { archive(*static_cast<const T*>(value)); }};
  return ops;
}

/// A handle: copies share the value. Destroying the last copy runs the value's destructor, which is user code.
struct ValueBox {
  std::shared_ptr<void> value;
  const ValueOps* ops = nullptr;

  template <class T>
  static ValueBox of(T value) {
    return {std::make_shared<T>(std::move(value)), &value_ops<T>()};
  }

  /// Null if the value is of another type.
  template <class T>
  [[nodiscard]] std::shared_ptr<T> as() const {
    if (ops == nullptr || ops->type != std::type_index(typeid(T))) return nullptr;
    return std::static_pointer_cast<T>(value);
  }
};

}  // namespace troupe::detail
