// The states of an optimizer whose parameters include sharded tables, under names that do not depend on the number of
// the tables' owners. Plain rules.
#pragma once

#include <cstddef>
#include <functional>
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

/// Returns the function from a name of optim::LocalOptimizer::state_dict() to its name in a checkpoint. A parameter
/// that is a part of a table is named by the table: if "groups.0.parameters.3" to "...5" are the table "items" over
/// three owners, "groups.0.parameters.4.exp_avg" is "groups.0.table_parts.1.3.items.exp_avg". Other parameters are
/// numbered without tables. Throws ValueError if two tables have one name or one place.
[[nodiscard]] std::function<std::string(const std::string& name)> checkpoint_names(std::vector<TablePlace> tables);

/// Returns a saved state under the names of optim::LocalOptimizer::state_dict(), for tables with any number of owners.
/// The states of a table are copied if its number of owners has changed; all other tensors are those of `saved`. A
/// state that is no list of rows (a number of steps) must then have been the same on all owners. Reads also checkpoints
/// that have all rows of a table in one tensor: "groups.0.tables.items.exp_avg". Throws ValueError
/// `[checkpoint] table items: exp_avg has 5 rows, not 7`, `[checkpoint] table items: owners differ in step`,
/// `[checkpoint] table items: not all owners have exp_avg`, `[checkpoint] no table is called "users"`.
[[nodiscard]] NamedTensors with_split_tables(const NamedTensors& saved, const std::vector<TablePlace>& tables);

}  // namespace detail
}  // namespace troupe
