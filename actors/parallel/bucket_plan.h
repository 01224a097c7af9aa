// Which gradients of a data-parallel module are summed in one operation, and in which order. Plain rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tensor/dtype.h"

namespace troupe::detail {

/// What the gradients of a parameter are.
enum class GradientKind : std::uint8_t {
  dense,
  rows,     ///< rows of a table (Gradients::sparse_of)
  unknown,  ///< no member has had one
};

/// What a plan needs to know of one parameter.
struct ParameterSize {
  DType dtype = DType::f32;
  std::int64_t numel = 0;
  GradientKind kind = GradientKind::dense;
};

/// Gradients of one dtype that travel as one tensor.
struct Bucket {
  DType dtype = DType::f32;
  std::vector<std::size_t> parameters;  ///< their numbers, in the order of their elements
  std::int64_t numel = 0;
  friend bool operator==(const Bucket&, const Bucket&) = default;
};

struct BucketPlan {
  std::vector<Bucket> buckets;    ///< in the order in which they are summed
  std::vector<std::size_t> rows;  ///< the parameters whose gradients are exchanged as rows, after all buckets
  std::vector<std::size_t> open;  ///< those of an unknown kind, in the expected order: they do not travel
  std::optional<Bucket> at_end;   ///< the last bucket, if it is summed together with the flags that end a round
  friend bool operator==(const BucketPlan&, const BucketPlan&) = default;
};

/// Fills buckets in `order`, which names every parameter once: gradients are expected in this order. A bucket is full
/// with `bucket_bytes`, the first one with `first_bytes`, so that the first sum starts early. A parameter is never
/// divided. Throws std::invalid_argument if `order`, which comes from another member, is no order of all parameters.
[[nodiscard]] BucketPlan plan_buckets(std::span<const ParameterSize> parameters, std::span<const std::size_t> order,
                                      std::size_t first_bytes, std::size_t bucket_bytes);

/// Adds to `plan` those of its open parameters whose kind is known by now, after all others and in their order. Returns
/// the plan of these alone, with buckets of `bucket_bytes`.
[[nodiscard]] BucketPlan plan_more(BucketPlan& plan, std::span<const ParameterSize> parameters,
                                   std::size_t bucket_bytes);

/// Returns `plan` with its last bucket moved to `at_end` if that has f32 elements of at most `most_bytes`: then an
/// operation of its own takes longer than the earlier start saves.
[[nodiscard]] BucketPlan with_small_bucket_at_end(BucketPlan plan, std::size_t most_bytes);

}  // namespace troupe::detail
