#include "actors/pipeline/chunk_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "actors/core/assert.h"
#include "tensor/error.h"

namespace troupe::detail {

std::vector<std::int64_t> chunk_sizes(std::int64_t batch, std::int64_t chunks) {
  TROUPE_ASSERT(batch > 0 && chunks > 0, fmt::format("{} rows in {} chunks", batch, chunks));
  const std::int64_t size = (batch - 1) / chunks + 1;
  std::vector<std::int64_t> sizes;
  for (std::int64_t begin = 0; begin < batch; begin += size) sizes.push_back(std::min(size, batch - begin));
  return sizes;
}

void BatchRows::add(const std::string& what, std::optional<std::int64_t> rows) {
  if (!rows) return;
  if (rows_ && *rows_ != *rows) {
    throw ShapeError(fmt::format("[Pipeline] {} has {} rows, {} has {}", what_, *rows_, what, *rows));
  }
  if (!rows_) what_ = what;
  rows_ = rows;
}

std::vector<std::int64_t> BatchRows::sizes(std::int64_t chunks) const {
  if (chunks < 1) throw std::invalid_argument(fmt::format("[Pipeline] chunks below 1: {}", chunks));
  if (!rows_) throw std::invalid_argument("[Pipeline] no input is a tensor that can be split");
  if (*rows_ == 0) throw std::invalid_argument(fmt::format("[Pipeline] {} has no rows", what_));
  return chunk_sizes(*rows_, chunks);
}

}  // namespace troupe::detail
