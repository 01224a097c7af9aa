// The list of all messages that actors send each other across nodes.
#pragma once

#include <variant>

#include "messages/autograd.h"
#include "messages/membership.h"
#include "messages/message_info.h"
#include "messages/optim.h"
#include "messages/rpc.h"
#include "messages/rref.h"

namespace troupe::msg {

/// Any message. The order of alternatives does not travel: `kInfo.number` does.
using AnyMessage = std::variant<                                                             //
    Call, RemoteCall, ValueCall, Reply, Failure, CallCancelled,                              //
    RRefFetch, RRefCreated, RRefForked, RRefDeleted, RRefForkAck, RRefRevoked, RRefChanged,  //
    BackwardMark, BackwardMarked, BackwardRun, BackwardGradients, BackwardFinished, ContextAborted, ContextReleased,
    ContextEntered, ShardCreate, ShardCreated, ShardPrepare, ShardPrepared, ShardCommit, ShardAbort, ShardStep,
    ShardStepped, ShardQuery, ShardOutcome, ShardReleased,  //
    MemberJoin, MemberList, MemberJoined, MemberLeft, ShutdownReady, ShutdownCount, ShutdownCounted, ShutdownAgreed,
    BarrierEntered, BarrierPassed, BarrierLeft,  //
    BackwardRelease, BackwardReleased,           //
    ShardLoad, ShardSave, ShardSaved, ShardJoin, ShardWait, ShardReady>;

/// Returns number, name and kind of the message that `message` holds.
[[nodiscard]] const MessageInfo& info_of(const AnyMessage& message);

/// Returns the description of the message with this number; null if it is unknown.
[[nodiscard]] const MessageInfo* find_info(MessageTag tag);

}  // namespace troupe::msg
