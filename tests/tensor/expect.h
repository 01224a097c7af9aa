// Expectations about tensors and errors that the tests of this folder share.
#pragma once

#include <array>
#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>

#include "tensor/print.h"
#include "tensor/tensor.h"

namespace troupe {

/// Fails unless shape, dtype and every bit are equal.
inline void expect_same(const Tensor& got, const Tensor& expected) {
  BOOST_CHECK_MESSAGE(same_bytes(got, expected), name_of(got.dtype())
                                                     << got.shape() << "\n"
                                                     << got << "\nis not\n"
                                                     << name_of(expected.dtype()) << expected.shape() << "\n"
                                                     << expected);
}

/// Fails unless shape and dtype are equal and all values within `rtol` and `atol`.
inline void expect_close(const Tensor& got, const Tensor& expected, double rtol, double atol = 0.0) {
  BOOST_CHECK_MESSAGE(got.dtype() == expected.dtype() && allclose(got, expected, rtol, atol),
                      got << "\nis not close to\n"
                          << expected);
}

inline constexpr std::array kDTypes{DType::boolean, DType::u8,  DType::i8,   DType::i16, DType::i32,
                                    DType::i64,     DType::f16, DType::bf16, DType::f32, DType::f64};
inline constexpr std::array kDTypesOf16BitFloats{DType::f16, DType::bf16};

/// Fails unless `f` of 16-bit floats equals `f` of the same numbers in f32, rounded once. REQUIRES: `x` are floating
/// point.
template <class F, class... Tensors>
void expect_rounded(const F& f, const Tensors&... x) {
  for (const DType dtype : kDTypesOf16BitFloats) {
    expect_same(f(x.to(dtype)...), f(x.to(dtype).to(DType::f32)...).to(dtype));
  }
}

/// Fails unless `f` throws exactly an `Error` with this text.
template <class Error, class F>
void expect_error(std::string_view text, const F& f) {
  try {
    f();
  } catch (const TensorError& error) {
    BOOST_CHECK(typeid(error) == typeid(Error));
    BOOST_CHECK_EQUAL(std::string(error.what()), std::string(text));
    return;
  }
  BOOST_ERROR("nothing thrown instead of " + std::string(text));
}

}  // namespace troupe
