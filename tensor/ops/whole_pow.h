// Powers of integers. For the sources of this folder.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe::detail {

/// `base` multiplied `exponent` times, >= 0; wraps around. The dtype, of integers, stays.
[[nodiscard]] Tensor whole_pow(const Tensor& base, std::int64_t exponent);

/// The same element by element, of one integer dtype; broadcasts. Of a negative exponent what is left of the quotient
/// 1 / base^-exponent toward 0: that of 1 and -1 is one of them, of all others, 0 too, 0. Looks at the exponents: on a GPU the
/// call waits.
[[nodiscard]] Tensor whole_pow(const Tensor& base, const Tensor& exponent);

}  // namespace troupe::detail
