#include "actors/embedding/embedding_shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "actors/references/copied_variables.h"
#include "autograd/ops/embedding.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/generator.h"
#include "tensor/ops/embedding.h"

namespace troupe {

void EmbeddingTable::check() const {
  if (rows < 1 || width < 1) throw ValueError(fmt::format("[ShardedEmbedding] sizes below 1: {} x {}", rows, width));
  if (!is_floating(dtype)) throw DTypeError(fmt::format("[ShardedEmbedding] not a floating dtype: {}", name_of(dtype)));
  if (padding_row && (*padding_row < 0 || *padding_row >= rows))
    throw IndexError(fmt::format("[ShardedEmbedding] padding row out of range: {} of {}", *padding_row, rows));
}

namespace detail {
namespace {

template <class T>
Tensor drawn(const EmbeddingTable& table, const std::vector<std::int64_t>& rows) {
  Tensor values = Tensor::empty({std::ssize(rows), table.width}, dtype_of<T>);
  const auto all = values.mutable_data<T>();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = all.subspan(i * static_cast<std::size_t>(table.width), static_cast<std::size_t>(table.width));
    Generator generator(table.seed, static_cast<std::uint64_t>(rows[i]));
    const bool is_padding = rows[i] == table.padding_row;
    for (T& value : row) value = is_padding ? T{0} : static_cast<T>(table.deviation * generator.normal());
  }
  return values;
}

Tensor first_values(const EmbeddingTable& table, const OwnedRows& owned) {
  const std::vector<std::int64_t> rows = owned.all();
  if (table.dtype == DType::f64) return drawn<double>(table, rows);
  return drawn<float>(table, rows).to(table.dtype);
}

const EmbeddingTable& checked(const EmbeddingTable& table, std::int64_t owners, std::int64_t owner) {
  table.check();
  if (owners < 1 || owner < 0 || owner >= owners)
    throw ValueError(fmt::format("[ShardedEmbedding] owner {} of {}", owner, owners));
  return table;
}

}  // namespace

EmbeddingShard::EmbeddingShard(const EmbeddingTable& table, std::int64_t owners, std::int64_t owner)
    : owned_(checked(table, owners, owner).rows, owners, owner),
      rows_(table.rows),
      owners_(owners),
      owner_(owner),
      weight_(first_values(table, owned_), RequiresGrad::yes),
      buffers_(1) {}

Tensor EmbeddingShard::places_of(const Tensor& rows) const {
  rows.require_defined("ShardedEmbedding");
  if (rows.dtype() != DType::i64 || rows.dim() != 1)
    throw DTypeError(fmt::format("[ShardedEmbedding] rows are {} {}", name_of(rows.dtype()), to_string(rows.shape())));
  const Tensor here = rows.to(Device::cpu()).contiguous();
  Tensor places = Tensor::empty(here.shape(), DType::i64);
  std::ranges::transform(here.data<std::int64_t>(), places.mutable_data<std::int64_t>().begin(), [&](std::int64_t row) {
    if (!owned_.has(row))
      throw IndexError(fmt::format("[ShardedEmbedding] row {} is not one of owner {}", row, owner_));
    return owned_.place_of(row);
  });
  return places;
}

Variable EmbeddingShard::lookup(const Tensor& rows) const {
  return embedding(weight_, places_of(rows), {.padding_idx = {}, .sparse = true});
}

Tensor EmbeddingShard::pull(const Tensor& rows) const { return embedding(weight_.value(), places_of(rows)); }

void EmbeddingShard::push(Scope& scope, const Tensor& rows, const Tensor& values) {
  set_rows(rows, values);
  announce_changes(scope.state(), {weight_});
}

void EmbeddingShard::set_rows(const Tensor& rows, const Tensor& values) {
  const Tensor places = places_of(rows);
  values.require_defined("ShardedEmbedding");
  const std::int64_t width = weight_.size(1);
  if (values.shape() != Shape{rows.numel(), width} || values.dtype() != weight_.dtype()) {
    throw ShapeError(fmt::format("[ShardedEmbedding] values are {} {}, not {} {}", name_of(values.dtype()),
                                 to_string(values.shape()), name_of(weight_.dtype()),
                                 to_string(Shape{rows.numel(), width})));
  }
  const Tensor source = values.to(Device::cpu()).contiguous();
  std::map<std::int64_t, std::int64_t> last;  // the value of each place, in ascending order of the places
  const auto numbers = places.data<std::int64_t>();
  for (std::size_t i = 0; i < numbers.size(); ++i) last[numbers[i]] = static_cast<std::int64_t>(i);
  std::vector<std::int64_t> ascending;
  for (const auto& [place, value] : last) ascending.push_back(place);
  const Tensor changed = from_values<std::int64_t>(std::span(ascending), {std::ssize(ascending)});

  const std::lock_guard lock(pushes_);
  const Tensor current = weight_.value();
  Tensor next = buffers_.take_equal(0, current, changed);
  const std::size_t bytes = static_cast<std::size_t>(width) * size_of(source.dtype());
  std::byte* const to = next.mutable_bytes();
  for (const auto& [place, value] : last) {
    std::memcpy(to + static_cast<std::size_t>(place) * bytes, source.bytes() + static_cast<std::size_t>(value) * bytes,
                bytes);
  }
  weight_.set_value(next);
  buffers_.give(0, current, next, changed);
}

RRef<Variable> EmbeddingShard::parameter(Scope& scope) const { return RRef<Variable>(scope, weight_); }

EmbeddingShard make_embedding_shard(const EmbeddingTable& table, std::int64_t owners, std::int64_t owner) {
  return EmbeddingShard(table, owners, owner);
}

}  // namespace detail
}  // namespace troupe
