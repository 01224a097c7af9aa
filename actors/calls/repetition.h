// A request that is repeated when it fails.
#pragma once

#include <memory>

#include "actors/core/request.h"
#include "actors/retry.h"

namespace troupe::detail {

class NodeCore;

/// As NodeCore::request, repeated as `repeat` and `policy` allow. REQUIRES: `request` carries no references: each
/// attempt sends the same bytes.
void request_repeatedly(std::shared_ptr<NodeCore> node, Request request, Repeat repeat, const RetryPolicy& policy,
                        AnswerHandler done);

}  // namespace troupe::detail
