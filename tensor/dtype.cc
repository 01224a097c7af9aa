#include "tensor/dtype.h"

#include <fmt/format.h>

#include <ostream>

#include "tensor/error.h"

namespace troupe {

std::string_view name_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::boolean: return "boolean";
    case DType::u8: return "u8";
    case DType::i8: return "i8";
    case DType::i16: return "i16";
    case DType::i32: return "i32";
    case DType::i64: return "i64";
    case DType::f16: return "f16";
    case DType::bf16: return "bf16";
    case DType::f32: return "f32";
    case DType::f64: return "f64";
  }
  return "unknown";
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name_of(dtype); }

DType parse_dtype(std::string_view name) {
  for (std::uint8_t number = 1; is_dtype(number); ++number) {
    if (name_of(DType{number}) == name) return DType{number};
  }
  throw DTypeError(fmt::format("[dtype] unknown name: {}", name));
}

void detail::throw_not_floating(std::string_view op, DType dtype) {
  throw DTypeError(fmt::format("[{}] needs a floating dtype: {}", op, name_of(dtype)));
}

}  // namespace troupe
