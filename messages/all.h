// The list of everything that actors say to each other across nodes.
#pragma once

#include <variant>

#include "messages/autograd.h"
#include "messages/membership.h"
#include "messages/optim.h"
#include "messages/rpc.h"
#include "messages/rref.h"
#include "messages/message_info.h"

namespace troupe::msg {

/// Any message. The order here means nothing on the wire: `kInfo.number` does.
using AnyMessage = std::variant<                                                //
    Call, RemoteCall, ValueCall, Reply, Failure, CallCancelled,                 //
    RRefFetch, RRefCreated, RRefForked, RRefDeleted, RRefForkAck, RRefRevoked, RRefChanged,  //
    BackwardMark, BackwardMarked, BackwardRun, BackwardGradients, BackwardFinished, ContextAborted, ContextReleased, ContextEntered,
    ShardCreate, ShardCreated, ShardPrepare, ShardPrepared, ShardCommit, ShardAbort, ShardStep, ShardStepped,
    ShardQuery, ShardOutcome, ShardReleased,  //
    MemberJoin, MemberList, MemberJoined, MemberLeft, ShutdownReady, ShutdownCount, ShutdownCounted, ShutdownAgreed,
    BarrierEntered, BarrierPassed, BarrierLeft>;

/// Number, name and kind of the message that `message` holds.
[[nodiscard]] const MessageInfo& info_of(const AnyMessage& message);

/// The word of this number, or null if we know none.
[[nodiscard]] const MessageInfo* find_info(MessageTag tag);

}  // namespace troupe::msg
