#include "actors/embedding/row_owners.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <span>
#include <unordered_map>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tensor/create.h"
#include "tensor/error.h"

namespace troupe::detail {
namespace {

constexpr std::int64_t kBlockRows = 64;

static_assert(std::endian::native == std::endian::little, "a row's bytes are hashed as they lie in memory");

std::size_t block_of(std::int64_t row) { return static_cast<std::size_t>(row / kBlockRows); }
std::uint64_t bit_of(std::int64_t row) { return std::uint64_t{1} << (row % kBlockRows); }

}  // namespace

std::int64_t owner_of(std::int64_t row, std::int64_t owners) noexcept {
  return static_cast<std::int64_t>(XXH64(&row, sizeof(row), 0) % static_cast<std::uint64_t>(owners));
}

OwnedRows::OwnedRows(std::int64_t rows, std::int64_t owners, std::int64_t owner)
    : rows_(rows), blocks_(block_of(rows + kBlockRows - 1)) {
  for (std::int64_t row = 0; row < rows; ++row) {
    if (owner_of(row, owners) == owner) blocks_[block_of(row)].bits |= bit_of(row);
  }
  for (RowBlock& block : blocks_) {
    block.before = count_;
    count_ += std::popcount(block.bits);
  }
}

bool OwnedRows::has(std::int64_t row) const noexcept {
  return row >= 0 && row < rows_ && (blocks_[block_of(row)].bits & bit_of(row)) != 0;
}

std::int64_t OwnedRows::place_of(std::int64_t row) const noexcept {
  const RowBlock& block = blocks_[block_of(row)];
  return block.before + std::popcount(block.bits & (bit_of(row) - 1));
}

std::int64_t OwnedRows::next_after(std::int64_t row) const noexcept {
  const std::int64_t first = row + 1;
  std::size_t block = block_of(first);
  std::uint64_t bits = blocks_[block].bits & ~(bit_of(first) - 1);
  while (bits == 0) bits = blocks_[++block].bits;
  return static_cast<std::int64_t>(block) * kBlockRows + std::countr_zero(bits);
}

std::vector<std::int64_t> OwnedRows::all() const {
  std::vector<std::int64_t> rows;
  rows.reserve(static_cast<std::size_t>(count_));
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    for (std::uint64_t bits = blocks_[i].bits; bits != 0; bits &= bits - 1)
      rows.push_back(static_cast<std::int64_t>(i) * kBlockRows + std::countr_zero(bits));
  }
  return rows;
}

SplitIndices split_indices(const Tensor& indices, std::int64_t rows, std::int64_t owners, std::int64_t padding_row) {
  indices.require_defined("ShardedEmbedding");
  if (indices.dtype() != DType::i64 && indices.dtype() != DType::i32)
    throw DTypeError(fmt::format("[ShardedEmbedding] indices are {}", name_of(indices.dtype())));
  const Tensor here = indices.to(Device::cpu()).to(DType::i64).contiguous();
  const auto wanted = here.data<std::int64_t>();

  struct Found {
    std::int64_t owner = 0;
    std::int64_t place = 0;  ///< among the owner's rows
  };
  std::vector<std::vector<std::int64_t>> of_owner(static_cast<std::size_t>(owners));
  std::unordered_map<std::int64_t, Found> found;
  found.reserve(wanted.size());
  std::vector<Found> in_order;
  in_order.reserve(wanted.size());
  for (const std::int64_t row : wanted) {
    if (row < 0 || row >= rows)
      throw IndexError(fmt::format("[ShardedEmbedding] index out of range: {} of {}", row, rows));
    const auto [at, is_new] = found.try_emplace(row);
    if (is_new) {
      const std::int64_t owner = owner_of(row, owners);
      auto& list = of_owner[static_cast<std::size_t>(owner)];
      at->second = {owner, std::ssize(list)};
      list.push_back(row);
    }
    in_order.push_back(at->second);
  }

  std::vector<std::int64_t> begin(of_owner.size(), 0);  // of each owner's rows among all
  for (std::size_t i = 1; i < begin.size(); ++i) begin[i] = begin[i - 1] + std::ssize(of_owner[i - 1]);
  const auto place_of = [&](const Found& row) { return begin[static_cast<std::size_t>(row.owner)] + row.place; };
  SplitIndices split;
  for (const auto& list : of_owner)
    split.rows.push_back(from_values<std::int64_t>(std::span(list), {std::ssize(list)}));
  split.places = Tensor::empty(here.shape(), DType::i64);
  std::ranges::transform(in_order, split.places.mutable_data<std::int64_t>().begin(), place_of);
  if (const auto padding = found.find(padding_row); padding != found.end())
    split.padding_place = place_of(padding->second);
  return split;
}

}  // namespace troupe::detail
