// A sharded table as a part of a checkpoint: restored onto any number of owners, row by row.
#pragma once

#include <vector>

#include "actors/checkpoint/remote_part.h"
#include "actors/embedding/sharded_embedding.h"
#include "actors/rref.h"
#include "actors/scope.h"

namespace troupe::detail {

/// Each owner's file has its rows in ascending order, "rows", and in its metadata the numbers of rows and owners of the
/// table and the owner's own: with row_owners.h they say which rows these are. Throws ValueError at restore:
/// `[checkpoint] table of 5 rows, not 7`, `... owner 2 of 3 is missing or given twice`, `... not a number: "x"`.
[[nodiscard]] RemotePart part_of(const ShardedEmbedding& table);

// Every node serves these.

[[nodiscard]] StateSnapshot snapshot_of_shard(Scope& scope, const RRef<EmbeddingShard>& shard);
[[nodiscard]] StagedState stage_shard(Scope& scope, const RRef<EmbeddingShard>& shard,
                                      const std::vector<TensorPlan>& plans);

}  // namespace troupe::detail
