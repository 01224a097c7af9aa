// What all handles of one optimizer share on one owner.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "actors/core/node_core.h"
#include "actors/shards/shard_parameters.h"
#include "actors/shards/trainer_clocks.h"
#include "messages/ids.h"

namespace troupe::detail {

/// Lives as long as a shard of one of the handles. On the node's strand for parameters only, except for `variables`.
struct SharedShard {
  SharedShard(std::vector<ShardParameters::Group> groups, std::vector<Variable> of_groups)
      : parameters(std::move(groups)), variables(std::move(of_groups)) {}

  ShardParameters parameters;
  TrainerClocks clocks;
  std::map<TrainerClocks::Ticket, ReturnAddress> waits;  // of trainers that are ahead
  TrainerClocks::Ticket last_ticket = 0;
  const std::vector<Variable> variables;  // the parameters of all groups, one after the other
};

}  // namespace troupe::detail
