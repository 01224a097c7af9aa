// SparseAdam: Adam for tables whose gradient has only some rows.
#pragma once

#include <string_view>

#include "optim/rule.h"

namespace troupe::optim {

/// Settings of SparseAdam.
struct SparseAdamOptions {
  static constexpr std::string_view kRule = "sparse_adam";

  double lr = 1e-3;       ///< step size, >= 0
  double beta1 = 0.9;     ///< share of the mean of gradients that a step keeps, in [0, 1)
  double beta2 = 0.999;   ///< share of the mean of squares that a step keeps, in [0, 1)
  double eps = 1e-8;      ///< added to the root, >= 0
  bool maximize = false;  ///< step along the gradient

  /// Throws ValueError, for example `[sparse_adam] beta1 is not a number in [0, 1): 1`.
  void check() const;

  friend bool operator==(const SparseAdamOptions&, const SparseAdamOptions&) = default;
  /// Calls `visit` with name and value of each option.
  template <class Visit>
  void each(const Visit& visit) {
    visit("lr", lr);
    visit("beta1", beta1);
    visit("beta2", beta2);
    visit("eps", eps);
    visit("maximize", maximize);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    each([&ar](std::string_view /*name*/, auto& option) { ar(option); });
  }
};

/// Adam that steps only the rows that the gradient has: values and means of other rows do not change. With p, g, m and
/// v of such a row (m and v are 0 before the first step) and t, the table's number of steps:
///   m  = beta1 * m + (1 - beta1) * g           -g instead of g with maximize
///   v  = beta2 * v + (1 - beta2) * g * g
///   p  = p - lr * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + eps)
/// A dense gradient steps all rows. Source: torch.optim.SparseAdam. States: "exp_avg" is m, "exp_avg_sq" is v.
class SparseAdam final : public Rule<SparseAdamOptions> {
 public:
  /// Throws ValueError as SparseAdamOptions::check().
  explicit SparseAdam(const SparseAdamOptions& options);

  /// By design, a step by rows leaves out rows that their means would move further.
  [[nodiscard]] bool zero_changes_nothing() const noexcept override { return true; }

 private:
  [[nodiscard]] UpdateFormula formula(std::int64_t step) const override;
};

}  // namespace troupe::optim
