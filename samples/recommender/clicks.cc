#include "samples/recommender/clicks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "tensor/create.h"
#include "tensor/ops.h"

namespace samples {

using troupe::Generator;
using troupe::Tensor;

Clicks Clicks::at(const Tensor& numbers) const {
  return {index_select(users, 0, numbers), index_select(items, 0, numbers), index_select(clicked, 0, numbers)};
}

ClickModel::ClickModel(std::int64_t users, std::int64_t items, std::uint64_t seed) {
  Generator generator(seed);
  users_ = troupe::randn({users, kHidden}, generator);
  items_ = troupe::randn({items, kHidden}, generator);
}

Clicks ClickModel::draw(std::int64_t count, Generator& generator) const {
  std::vector<std::int64_t> users;
  std::vector<std::int64_t> items;
  for (std::int64_t i = 0; i < count; ++i) {
    users.push_back(static_cast<std::int64_t>(generator.below(static_cast<std::uint64_t>(users_.size(0)))));
    const double popular = generator.uniform();  // squared: the first items are shown most often
    items.push_back(static_cast<std::int64_t>(popular * popular * static_cast<double>(items_.size(0))));
  }
  Clicks clicks{
      troupe::from_values<std::int64_t>(users, {count}), troupe::from_values<std::int64_t>(items, {count}), {}};
  const Tensor chances = probabilities(clicks);
  std::vector<float> clicked;
  for (const float chance : chances.data<float>()) clicked.push_back(generator.uniform() < chance ? 1.0F : 0.0F);
  clicks.clicked = troupe::from_values<float>(clicked, {count});
  return clicks;
}

Tensor ClickModel::probabilities(const Clicks& clicks) const {
  const Tensor products = index_select(users_, 0, clicks.users) * index_select(items_, 0, clicks.items);
  return sigmoid(sum(products, 1) * (2.0 / std::sqrt(static_cast<double>(kHidden))));
}

double area_under_curve(const Tensor& scores, const Tensor& clicked) {
  const auto score = scores.data<float>();
  const auto is_click = clicked.data<float>();
  std::vector<std::size_t> order(score.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return score[i]; });
  double clicks = 0;
  double ranks = 0;  // of the clicks, from 1 on; equal scores have their mean rank
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && score[order[end]] == score[order[begin]]) ++end;
    const double rank = static_cast<double>(begin + end + 1) / 2;
    for (std::size_t i = begin; i < end; ++i) {
      clicks += is_click[order[i]];
      ranks += is_click[order[i]] * rank;
    }
  }
  const double others = static_cast<double>(order.size()) - clicks;
  if (clicks == 0 || others == 0) return 0.5;
  return (ranks - clicks * (clicks + 1) / 2) / (clicks * others);
}

}  // namespace samples
