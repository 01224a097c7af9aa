// A request that is made again when it fails.
#pragma once

#include <memory>

#include "actors/core/request.h"
#include "actors/retry.h"

namespace troupe::detail {

class NodeCore;

/// As NodeCore::request, again and again as `idempotency` and `policy` allow. The request is sent unchanged each time, so
/// it must not carry references.
void request_repeatedly(std::shared_ptr<NodeCore> node, Request request, Idempotency idempotency, const RetryPolicy& policy,
                        AnswerHandler done);

}  // namespace troupe::detail
