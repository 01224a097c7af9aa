// The formulas of tensor/kernels/update.h for one element: each returns the next value from value p, gradient g and
// states s, and updates s in place.
#pragma once

#include <cmath>
#include <cstddef>

#include "tensor/kernels/host_device.h"
#include "tensor/kernels/update.h"

namespace troupe::kernels {

/// Returns `value` as T, so that no product is computed in double.
template <class T>
T number(double value) {
  return static_cast<T>(value);
}

template <class T, bool has_direction, bool nesterov>
struct SgdElement {
  static constexpr std::size_t kStates = has_direction ? 1 : 0;
  T rate, momentum, share;
  explicit SgdElement(const SgdFormula& f)
      : rate(number<T>(f.rate)), momentum(number<T>(f.momentum)), share(number<T>(f.share)) {}

  TROUPE_HOST_DEVICE T operator()(T p, T g, T* s) const {
    if constexpr (!has_direction) return p - rate * g;
    s[0] = momentum * s[0] + share * g;
    const T d = nesterov ? g + momentum * s[0] : s[0];
    return p - rate * d;
  }
};

template <class T, bool amsgrad>
struct AdamElement {
  static constexpr std::size_t kStates = amsgrad ? 3 : 2;
  T rate, keep, beta1, rest1, beta2, rest2, eps, root_share;
  explicit AdamElement(const AdamFormula& f)
      : rate(number<T>(f.rate)),
        keep(number<T>(f.keep)),
        beta1(number<T>(f.beta1)),
        rest1(number<T>(1.0 - f.beta1)),
        beta2(number<T>(f.beta2)),
        rest2(number<T>(1.0 - f.beta2)),
        eps(number<T>(f.eps)),
        root_share(number<T>(f.root_share)) {}

  TROUPE_HOST_DEVICE T operator()(T p, T g, T* s) const {
    s[0] = beta1 * s[0] + rest1 * g;
    s[1] = beta2 * s[1] + rest2 * (g * g);
    T v = s[1];
    if constexpr (amsgrad) {
      s[2] = s[2] >= v ? s[2] : v;  // a NaN in v stays
      v = s[2];
    }
    return keep * p - rate * (s[0] / (root_share * std::sqrt(v) + eps));
  }
};

template <class T>
struct AdagradElement {
  static constexpr std::size_t kStates = 1;
  T rate, eps;
  explicit AdagradElement(const AdagradFormula& f) : rate(number<T>(f.rate)), eps(number<T>(f.eps)) {}

  TROUPE_HOST_DEVICE T operator()(T p, T g, T* s) const {
    s[0] = s[0] + g * g;
    return p - rate * (g / (std::sqrt(s[0]) + eps));
  }
};

template <class T>
struct AdadeltaElement {
  static constexpr std::size_t kStates = 2;
  T rate, rho, rest, eps;
  explicit AdadeltaElement(const AdadeltaFormula& f)
      : rate(number<T>(f.rate)), rho(number<T>(f.rho)), rest(number<T>(1.0 - f.rho)), eps(number<T>(f.eps)) {}

  TROUPE_HOST_DEVICE T operator()(T p, T g, T* s) const {
    s[0] = rho * s[0] + rest * (g * g);
    const T d = std::sqrt(s[1] + eps) / std::sqrt(s[0] + eps) * g;
    s[1] = rho * s[1] + rest * (d * d);
    return p - rate * d;
  }
};

template <class T, bool centered, bool has_momentum>
struct RmspropElement {
  static constexpr std::size_t kStates = 1 + (centered ? 1 : 0) + (has_momentum ? 1 : 0);
  T rate, alpha, rest, eps, momentum;
  explicit RmspropElement(const RmspropFormula& f)
      : rate(number<T>(f.rate)),
        alpha(number<T>(f.alpha)),
        rest(number<T>(1.0 - f.alpha)),
        eps(number<T>(f.eps)),
        momentum(number<T>(f.momentum)) {}

  TROUPE_HOST_DEVICE T operator()(T p, T g, T* s) const {
    s[0] = alpha * s[0] + rest * (g * g);
    T v = s[0];
    if constexpr (centered) {
      s[1] = alpha * s[1] + rest * g;
      v = v - s[1] * s[1];
    }
    T d = g / (std::sqrt(v) + eps);
    if constexpr (has_momentum) {
      s[kStates - 1] = momentum * s[kStates - 1] + d;
      d = s[kStates - 1];
    }
    return p - rate * d;
  }
};

template <class T>
struct AdamaxElement {
  static constexpr std::size_t kStates = 2;
  T rate, beta1, rest1, beta2, eps;
  explicit AdamaxElement(const AdamaxFormula& f)
      : rate(number<T>(f.rate)),
        beta1(number<T>(f.beta1)),
        rest1(number<T>(1.0 - f.beta1)),
        beta2(number<T>(f.beta2)),
        eps(number<T>(f.eps)) {}

  TROUPE_HOST_DEVICE T operator()(T p, T g, T* s) const {
    s[0] = beta1 * s[0] + rest1 * g;
    const T kept = beta2 * s[1];
    const T here = std::abs(g) + eps;
    s[1] = kept >= here ? kept : here;  // a NaN in g stays
    return p - rate * (s[0] / s[1]);
  }
};

template <class T>
struct RpropElement {
  static constexpr std::size_t kStates = 2;
  T eta_minus, eta_plus, size_min, size_max, first_size;
  bool is_first;
  explicit RpropElement(const RpropFormula& f)
      : eta_minus(number<T>(f.eta_minus)),
        eta_plus(number<T>(f.eta_plus)),
        size_min(number<T>(f.size_min)),
        size_max(number<T>(f.size_max)),
        first_size(number<T>(f.first_size)),
        is_first(f.is_first) {}

  TROUPE_HOST_DEVICE T operator()(T p, T g, T* s) const {
    const T agreement = g * s[0];
    T size = is_first ? first_size : s[1];
    size = size * (agreement > T{0} ? eta_plus : agreement < T{0} ? eta_minus : T{1});
    size = size < size_min ? size_min : size;
    size = size > size_max ? size_max : size;
    const T followed = agreement < T{0} ? T{0} : g;
    const T direction = followed > T{0} ? T{1} : followed < T{0} ? T{-1} : T{0};
    s[0] = followed;
    s[1] = size;
    return p - direction * size;
  }
};

template <class T>
struct NAdamElement {
  static constexpr std::size_t kStates = 2;
  T gradient_rate, mean_rate, beta1, rest1, beta2, rest2, eps, root_share;
  explicit NAdamElement(const NAdamFormula& f)
      : gradient_rate(number<T>(f.gradient_rate)),
        mean_rate(number<T>(f.mean_rate)),
        beta1(number<T>(f.beta1)),
        rest1(number<T>(1.0 - f.beta1)),
        beta2(number<T>(f.beta2)),
        rest2(number<T>(1.0 - f.beta2)),
        eps(number<T>(f.eps)),
        root_share(number<T>(f.root_share)) {}

  TROUPE_HOST_DEVICE T operator()(T p, T g, T* s) const {
    s[0] = beta1 * s[0] + rest1 * g;
    s[1] = beta2 * s[1] + rest2 * (g * g);
    const T d = root_share * std::sqrt(s[1]) + eps;
    return p - gradient_rate * (g / d) - mean_rate * (s[0] / d);
  }
};

template <class T, bool is_rectified>
struct RAdamElement {
  static constexpr std::size_t kStates = 2;
  T rate, beta1, rest1, beta2, rest2, eps;
  explicit RAdamElement(const RAdamFormula& f)
      : rate(number<T>(f.rate)),
        beta1(number<T>(f.beta1)),
        rest1(number<T>(1.0 - f.beta1)),
        beta2(number<T>(f.beta2)),
        rest2(number<T>(1.0 - f.beta2)),
        eps(number<T>(f.eps)) {}

  TROUPE_HOST_DEVICE T operator()(T p, T g, T* s) const {
    s[0] = beta1 * s[0] + rest1 * g;
    s[1] = beta2 * s[1] + rest2 * (g * g);
    if constexpr (is_rectified) return p - rate * (s[0] / (std::sqrt(s[1]) + eps));
    else return p - rate * s[0];
  }
};

template <class T, bool replaces_mean>
struct AsgdElement {
  static constexpr std::size_t kStates = 1;
  T rate, keep, share;
  explicit AsgdElement(const AsgdFormula& f)
      : rate(number<T>(f.rate)), keep(number<T>(f.keep)), share(number<T>(f.share)) {}

  TROUPE_HOST_DEVICE T operator()(T p, T g, T* s) const {
    const T next = keep * p - rate * g;
    if constexpr (replaces_mean) s[0] = next;
    else s[0] = s[0] + share * (next - s[0]);
    return next;
  }
};

/// Calls `f(element)` with the element formula of `formula` for T.
template <class T, class F>
void with_element(const UpdateFormula& formula, const F& f) {
  struct Choice {
    const F& f;
    void operator()(const SgdFormula& x) const {
      if (!x.has_direction) return f(SgdElement<T, false, false>(x));
      if (x.nesterov) return f(SgdElement<T, true, true>(x));
      return f(SgdElement<T, true, false>(x));
    }
    void operator()(const AdamFormula& x) const {
      return x.amsgrad ? f(AdamElement<T, true>(x)) : f(AdamElement<T, false>(x));
    }
    void operator()(const AdagradFormula& x) const { f(AdagradElement<T>(x)); }
    void operator()(const AdadeltaFormula& x) const { f(AdadeltaElement<T>(x)); }
    void operator()(const RmspropFormula& x) const {
      const bool has_momentum = x.momentum != 0.0;
      if (x.centered) return has_momentum ? f(RmspropElement<T, true, true>(x)) : f(RmspropElement<T, true, false>(x));
      return has_momentum ? f(RmspropElement<T, false, true>(x)) : f(RmspropElement<T, false, false>(x));
    }
    void operator()(const AdamaxFormula& x) const { f(AdamaxElement<T>(x)); }
    void operator()(const RpropFormula& x) const { f(RpropElement<T>(x)); }
    void operator()(const NAdamFormula& x) const { f(NAdamElement<T>(x)); }
    void operator()(const RAdamFormula& x) const {
      x.is_rectified ? f(RAdamElement<T, true>(x)) : f(RAdamElement<T, false>(x));
    }
    void operator()(const AsgdFormula& x) const {
      x.replaces_mean ? f(AsgdElement<T, true>(x)) : f(AsgdElement<T, false>(x));
    }
  };
  std::visit(Choice{f}, formula);
}

}  // namespace troupe::kernels
