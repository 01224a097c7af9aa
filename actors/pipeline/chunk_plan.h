// How a batch is split into micro-batches. Plain rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe::detail {

/// Returns the number of rows of each micro-batch. All have batch / chunks rows, rounded up, but the last one, which
/// may have fewer; there are fewer micro-batches than `chunks` if the rows do not suffice: 6 rows in 4 chunks are 2,
/// 2, 2. REQUIRES: batch > 0, chunks > 0. Source: `torch.chunk`.
[[nodiscard]] std::vector<std::int64_t> chunk_sizes(std::int64_t batch, std::int64_t chunks);

/// The rows of the values that are split together.
class BatchRows {
 public:
  /// `what` has so many rows; nullopt: it is undefined. Throws ShapeError `[Pipeline] input 0 has 8 rows, input 1 has
  /// 6`.
  void add(const std::string& what, std::optional<std::int64_t> rows);

  /// Returns the rows of each micro-batch. Throws std::invalid_argument if no value with rows was added, none has a
  /// row, or `chunks` is below 1.
  [[nodiscard]] std::vector<std::int64_t> sizes(std::int64_t chunks) const;

 private:
  std::optional<std::int64_t> rows_;
  std::string what_;  // that has them
};

}  // namespace troupe::detail
