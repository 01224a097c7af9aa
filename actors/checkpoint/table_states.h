// The states of an optimizer whose parameters include sharded tables, under names that do not depend on the number of
// the tables' owners. Plain rules.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "actors/embedding/sharded_embedding.h"
#include "tensor/io/named_tensors.h"

namespace troupe {

/// Where the parameters of a table stand in the list that an optimizer was made with: one after the other, the first
/// at `first`, in group `group`.
struct TableOfOptimizer {
  std::string name;  ///< in the checkpoint
  ShardedEmbedding table;
  std::size_t first = 0;
  std::size_t group = 0;
};

namespace detail {

/// A table in the parameters of an optimizer.
struct TablePlace {
  std::string name;
  std::size_t group = 0;
  std::size_t first = 0;
  std::int64_t rows = 0;
  std::int64_t owners = 0;
};

/// Returns `state`, whose names are those of optim::LocalOptimizer::state(), with each table as one: the states of
/// "groups.0.parameters.3.exp_avg" to "...5.exp_avg", rows of three owners, are "groups.0.tables.items.exp_avg", all
/// rows. Parameters that are no tables are numbered without them. A state that is no list of rows (a number of steps)
/// must be the same on all owners. Throws ValueError `[checkpoint] table items: owners differ in step`,
/// `[checkpoint] table items: not all owners have exp_avg`, and if two tables have one name or one place.
[[nodiscard]] NamedTensors with_whole_tables(const NamedTensors& state, const std::vector<TablePlace>& tables);

/// The inverse, for tables with other owners. Throws ValueError `[checkpoint] table items: exp_avg has 5 rows, not 7`,
/// `[checkpoint] no table is called "users"`.
[[nodiscard]] NamedTensors with_split_tables(const NamedTensors& state, const std::vector<TablePlace>& tables);

}  // namespace detail
}  // namespace troupe
