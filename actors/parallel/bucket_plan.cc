#include "actors/parallel/bucket_plan.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace troupe::detail {
namespace {

void check_order(std::size_t count, std::span<const std::size_t> order) {
  if (order.size() != count) {
    throw std::invalid_argument(
        fmt::format("[DataParallel] an order of {} gradients, for {} parameters", order.size(), count));
  }
  std::vector<bool> seen(count);
  for (const std::size_t number : order) {
    if (number >= count || seen[number]) {
      throw std::invalid_argument(fmt::format("[DataParallel] an order of gradients names parameter {} {}, of {}",
                                              number, number < count ? "twice" : "which is out of range", count));
    }
    seen[number] = true;
  }
}

/// As plan_buckets, of the parameters that `order` names.
BucketPlan plan_some(std::span<const ParameterSize> parameters, std::span<const std::size_t> order,
                     std::size_t first_bytes, std::size_t bucket_bytes) {
  BucketPlan plan;
  std::vector<Bucket> filling;  // at most one of each dtype
  for (const std::size_t number : order) {
    const ParameterSize& parameter = parameters[number];
    if (parameter.kind != GradientKind::dense) {
      (parameter.kind == GradientKind::rows ? plan.rows : plan.open).push_back(number);
      continue;
    }
    auto bucket = filling.begin();
    while (bucket != filling.end() && bucket->dtype != parameter.dtype) ++bucket;
    if (bucket == filling.end()) bucket = filling.insert(filling.end(), Bucket{parameter.dtype, {}, 0});
    bucket->parameters.push_back(number);
    bucket->numel += parameter.numel;
    const std::size_t full = plan.buckets.empty() ? first_bytes : bucket_bytes;
    if (static_cast<std::size_t>(bucket->numel) * size_of(bucket->dtype) >= full) {
      plan.buckets.push_back(std::move(*bucket));
      filling.erase(bucket);
    }
  }
  for (Bucket& bucket : filling) plan.buckets.push_back(std::move(bucket));
  return plan;
}

}  // namespace

BucketPlan plan_buckets(std::span<const ParameterSize> parameters, std::span<const std::size_t> order,
                        std::size_t first_bytes, std::size_t bucket_bytes) {
  check_order(parameters.size(), order);
  return plan_some(parameters, order, first_bytes, bucket_bytes);
}

BucketPlan plan_more(BucketPlan& plan, std::span<const ParameterSize> parameters, std::size_t bucket_bytes) {
  BucketPlan more = plan_some(parameters, plan.open, bucket_bytes, bucket_bytes);
  plan.open = std::exchange(more.open, {});
  plan.buckets.insert(plan.buckets.end(), more.buckets.begin(), more.buckets.end());
  plan.rows.insert(plan.rows.end(), more.rows.begin(), more.rows.end());
  return more;
}

BucketPlan with_small_bucket_at_end(BucketPlan plan, std::size_t most_bytes) {
  if (plan.buckets.empty() || plan.buckets.back().dtype != DType::f32) return plan;
  if (static_cast<std::size_t>(plan.buckets.back().numel) * size_of(DType::f32) > most_bytes) return plan;
  plan.at_end = std::move(plan.buckets.back());
  plan.buckets.pop_back();
  return plan;
}

}  // namespace troupe::detail
