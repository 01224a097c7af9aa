// Clicks of users on items, drawn from a model that is known, and how well scores order them.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/generator.h"
#include "tensor/tensor.h"

namespace samples {

/// What was shown to whom, and whether it was clicked.
struct Clicks {
  troupe::Tensor users;    ///< (n) i64
  troupe::Tensor items;    ///< (n) i64
  troupe::Tensor clicked;  ///< (n) f32, 0 or 1

  [[nodiscard]] std::int64_t count() const { return users.numel(); }
  /// Returns the examples of these numbers, i64.
  [[nodiscard]] Clicks at(const troupe::Tensor& numbers) const;
};

/// Every user and every item has a hidden vector of `kHidden` normal numbers; a user clicks an item with probability
/// sigmoid(2 * (u . v) / sqrt(kHidden)). Some items are shown much more often than others.
class ClickModel {
 public:
  static constexpr std::int64_t kHidden = 4;

  ClickModel(std::int64_t users, std::int64_t items, std::uint64_t seed);

  [[nodiscard]] Clicks draw(std::int64_t count, troupe::Generator& generator) const;

  /// Returns the probability of each click, f32 (n): no scores order new clicks better.
  [[nodiscard]] troupe::Tensor probabilities(const Clicks& clicks) const;

 private:
  troupe::Tensor users_;  ///< (users, kHidden)
  troupe::Tensor items_;
};

/// Returns the area under the ROC curve: the probability that a clicked example has a higher score than one that was
/// not clicked; equal scores count one half. 0.5 if all or none are clicked.
[[nodiscard]] double area_under_curve(const troupe::Tensor& scores, const troupe::Tensor& clicked);

}  // namespace samples
