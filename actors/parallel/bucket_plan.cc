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

}  // namespace

BucketPlan plan_buckets(std::span<const ParameterSize> parameters, std::span<const std::size_t> order,
                        std::size_t first_bytes, std::size_t bucket_bytes) {
  check_order(parameters.size(), order);
  BucketPlan plan;
  std::vector<Bucket> open;  // at most one of each dtype
  for (const std::size_t number : order) {
    const ParameterSize& parameter = parameters[number];
    if (parameter.as_rows) {
      plan.rows.push_back(number);
      continue;
    }
    auto bucket = open.begin();
    while (bucket != open.end() && bucket->dtype != parameter.dtype) ++bucket;
    if (bucket == open.end()) bucket = open.insert(open.end(), Bucket{parameter.dtype, {}, 0});
    bucket->parameters.push_back(number);
    bucket->numel += parameter.numel;
    const std::size_t full = plan.buckets.empty() ? first_bytes : bucket_bytes;
    if (static_cast<std::size_t>(bucket->numel) * size_of(bucket->dtype) >= full) {
      plan.buckets.push_back(std::move(*bucket));
      open.erase(bucket);
    }
  }
  for (Bucket& bucket : open) plan.buckets.push_back(std::move(bucket));
  return plan;
}

BucketPlan with_small_bucket_at_end(BucketPlan plan, std::size_t most_bytes) {
  if (plan.buckets.empty() || plan.buckets.back().dtype != DType::f32) return plan;
  if (static_cast<std::size_t>(plan.buckets.back().numel) * size_of(DType::f32) > most_bytes) return plan;
  plan.at_end = std::move(plan.buckets.back());
  plan.buckets.pop_back();
  return plan;
}

}  // namespace troupe::detail
