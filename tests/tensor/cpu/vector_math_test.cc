#include "tensor/cpu/vector_math.h"

#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace troupe::cpu {
namespace {

template <class T>
struct Named {
  const char* name;
  RealFunction<T> computed;
  long double (*exact)(long double);
  double low, high;   ///< the tested range
  long double units;  ///< maximum error in units in the last place
};

template <class T>
std::vector<Named<T>> all_functions() {
  const RealFunctions<T>& f = real_functions<T>();
  // SLEEF guarantees 1 unit, 1.5 for erfc. The exact value's rounding adds half a unit.
  return {{"exp", f.exp, [](long double x) { return std::exp(x); }, -80, 80, 1.5L},
          {"expm1", f.expm1, [](long double x) { return std::expm1(x); }, -30, 80, 1.5L},
          {"log", f.log, [](long double x) { return std::log(x); }, 1e-30, 1e30, 1.5L},
          {"log1p", f.log1p, [](long double x) { return std::log1p(x); }, -0.99, 1e6, 1.5L},
          {"sin", f.sin, [](long double x) { return std::sin(x); }, -1000, 1000, 1.5L},
          {"cos", f.cos, [](long double x) { return std::cos(x); }, -1000, 1000, 1.5L},
          {"exp2", f.exp2, [](long double x) { return std::exp2(x); }, -120, 120, 1.5L},
          {"log2", f.log2, [](long double x) { return std::log2(x); }, 1e-30, 1e30, 1.5L},
          {"log10", f.log10, [](long double x) { return std::log10(x); }, 1e-30, 1e30, 1.5L},
          {"tan", f.tan, [](long double x) { return std::tan(x); }, -1000, 1000, 1.5L},
          {"asin", f.asin, [](long double x) { return std::asin(x); }, -1, 1, 1.5L},
          {"acos", f.acos, [](long double x) { return std::acos(x); }, -1, 1, 1.5L},
          {"atan", f.atan, [](long double x) { return std::atan(x); }, -100, 100, 1.5L},
          {"sinh", f.sinh, [](long double x) { return std::sinh(x); }, -88, 88, 1.5L},
          {"cosh", f.cosh, [](long double x) { return std::cosh(x); }, -88, 88, 1.5L},
          {"asinh", f.asinh, [](long double x) { return std::asinh(x); }, -1e19, 1e19, 1.5L},
          {"acosh", f.acosh, [](long double x) { return std::acosh(x); }, 1, 1e19, 1.5L},
          {"atanh", f.atanh, [](long double x) { return std::atanh(x); }, -0.999, 0.999, 1.5L},
          {"tanh", f.tanh, [](long double x) { return std::tanh(x); }, -20, 20, 1.5L},
          {"erf", f.erf, [](long double x) { return std::erf(x); }, -6, 6, 1.5L},
          {"erfc", f.erfc, [](long double x) { return std::erfc(x); }, -6, 8, 2.0L}};
}

template <class T>
long double units_between(T computed, long double exact) {
  const T rounded = static_cast<T>(exact);
  const T next = std::nextafter(std::abs(rounded), std::numeric_limits<T>::infinity());
  return std::abs(static_cast<long double>(computed) - exact) /
         (static_cast<long double>(next) - std::abs(static_cast<long double>(rounded)));
}

// Both signs, with equally many small and large magnitudes.
template <class T>
std::vector<T> spread_over(double low, double high) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> even(low, high);
  std::vector<T> values;
  for (int i = 0; i < 4000; ++i) {
    const double x = even(random);
    values.push_back(static_cast<T>(x));
    const double small = std::ldexp(x, -(i % 20));
    if (small >= low) values.push_back(static_cast<T>(small));
  }
  return values;
}

template <class T>
void check_accuracy() {
  for (const Named<T>& function : all_functions<T>()) {
    const std::vector<T> x = spread_over<T>(function.low, function.high);
    std::vector<T> out(x.size());
    function.computed(out.data(), x.data(), static_cast<std::int64_t>(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const long double exact = function.exact(x[i]);
      BOOST_TEST_INFO_SCOPE(function.name << "(" << x[i] << ") = " << out[i]);
      if (!(units_between(out[i], exact) <= function.units)) BOOST_TEST(out[i] == static_cast<T>(exact));
    }
  }
}

BOOST_AUTO_TEST_CASE(functions_of_f32_are_within_their_units) { check_accuracy<float>(); }
BOOST_AUTO_TEST_CASE(functions_of_f64_are_within_their_units) { check_accuracy<double>(); }

template <class T>
void check_places() {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  for (const Named<T>& function : all_functions<T>()) {
    const T x = static_cast<T>(0.7);
    T alone = 0;
    function.computed(&alone, &x, 1);
    for (std::int64_t count = 1; count < 40; ++count) {
      std::vector<T> values(static_cast<std::size_t>(count) + 1, x);
      function.computed(values.data(), values.data(), count);
      for (std::int64_t i = 0; i < count; ++i) {
        BOOST_TEST(std::bit_cast<Bits>(values[static_cast<std::size_t>(i)]) == std::bit_cast<Bits>(alone),
                   function.name);
      }
      BOOST_TEST(values.back() == x);  // not written
    }
  }
}

BOOST_AUTO_TEST_CASE(an_element_has_the_same_bits_at_every_place) {
  check_places<float>();
  check_places<double>();
}

BOOST_AUTO_TEST_CASE(limits_are_reached_and_nan_stays) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto of = [](RealFunction<float> f, float x) {
    f(&x, &x, 1);
    return x;
  };
  const RealFunctions<float>& f = real_functions<float>();
  BOOST_TEST(of(f.exp, -kInfinity) == 0.0F);
  BOOST_TEST(of(f.exp, kInfinity) == kInfinity);
  BOOST_TEST(of(f.log, 0.0F) == -kInfinity);
  BOOST_TEST(std::isnan(of(f.log, -1.0F)));
  BOOST_TEST(of(f.tanh, kInfinity) == 1.0F);
  BOOST_TEST(of(f.erf, -kInfinity) == -1.0F);
  BOOST_TEST(of(f.erfc, kInfinity) == 0.0F);
  for (const Named<float>& function : all_functions<float>()) {
    BOOST_TEST(std::isnan(of(function.computed, std::numeric_limits<float>::quiet_NaN())), function.name);
  }
}

// All magnitudes and both signs, with quotients up to 2^100.
template <class T>
void check_pairs() {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> even(-2.0, 2.0);
  std::uniform_int_distribution<int> exponent(-20, 20);
  std::vector<T> a;
  std::vector<T> b;
  for (int i = 0; i < 4000; ++i) {
    a.push_back(static_cast<T>(std::ldexp(even(random), exponent(random))));
    b.push_back(static_cast<T>(std::ldexp(even(random), exponent(random))));
  }
  for (const int size : {90, 50, 20}) {
    a.push_back(static_cast<T>(std::ldexp(1.7, size)));
    b.push_back(static_cast<T>(0.7));
  }
  const RealFunctions<T>& f = real_functions<T>();
  std::vector<T> atan2(a.size());
  std::vector<T> hypot(a.size());
  std::vector<T> fmod(a.size());
  const auto count = static_cast<std::int64_t>(a.size());
  f.atan2(atan2.data(), a.data(), b.data(), count);
  f.hypot(hypot.data(), a.data(), b.data(), count);
  f.fmod(fmod.data(), a.data(), b.data(), count);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto x = static_cast<long double>(a[i]);
    const auto y = static_cast<long double>(b[i]);
    BOOST_TEST_INFO_SCOPE(a[i] << ", " << b[i]);
    if (!(units_between(atan2[i], std::atan2(x, y)) <= 1.5L)) BOOST_TEST(atan2[i] == static_cast<T>(std::atan2(x, y)));
    if (!(units_between(hypot[i], std::hypot(x, y)) <= 1.0L)) BOOST_TEST(hypot[i] == static_cast<T>(std::hypot(x, y)));
    if (fmod[i] != std::fmod(a[i], b[i])) BOOST_TEST(fmod[i] == std::fmod(a[i], b[i]));
  }
}

BOOST_AUTO_TEST_CASE(functions_of_pairs_are_within_their_units_and_remainders_exact) {
  check_pairs<float>();
  check_pairs<double>();
}

BOOST_AUTO_TEST_CASE(powers_of_whole_numbers_are_exact_and_signs_are_kept) {
  std::vector<double> base{2, -2, 3, 10, 0, 5, -8, 4, 1.5};
  const std::vector<double> exponent{10, 3, 4, 3, 0, -1, 0.5, 0.5, 2};
  real_functions<double>().pow(base.data(), base.data(), exponent.data(), 9);
  const std::vector<double> expected{1024, -8, 81, 1000, 1, 0.2, 0, 2, 2.25};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (i == 6) BOOST_TEST(std::isnan(base[i]));  // the root of a negative number
    else BOOST_TEST(base[i] == expected[i]);
  }
}

}  // namespace
}  // namespace troupe::cpu
