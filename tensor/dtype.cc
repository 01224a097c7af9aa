#include "tensor/dtype.h"

#include <fmt/format.h>

#include "tensor/error.h"

namespace troupe {

std::string_view name_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::boolean: return "boolean";
    case DType::u8: return "u8";
    case DType::i32: return "i32";
    case DType::i64: return "i64";
    case DType::f32: return "f32";
    case DType::f64: return "f64";
  }
  return "unknown";
}

DType parse_dtype(std::string_view name) {
  for (DType dtype : {DType::boolean, DType::u8, DType::i32, DType::i64, DType::f32, DType::f64}) {
    if (name_of(dtype) == name) return dtype;
  }
  throw DTypeError(fmt::format("[dtype] unknown name: {}", name));
}

void detail::throw_not_floating(std::string_view op, DType dtype) {
  throw DTypeError(fmt::format("[{}] needs a floating dtype: {}", op, name_of(dtype)));
}

}  // namespace troupe
