// Members that come and go while a node runs: with a file, and with what other members tell.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "actors/calls/call_grants.h"
#include "actors/clock.h"
#include "actors/core/node_core.h"
#include "messages/error.h"
#include "node/audit/audit_entry.h"
#include "node/keys/key_ring.h"
#include "node/keys/member_file.h"
#include "node/keys/member_list.h"

namespace troupe::detail {

/// Returns what the list of members lets them call; empty if it forbids nothing.
[[nodiscard]] CallGrants grants_of(const MemberFile::Members& members);

/// Lets in the member of a certificate that came from the address `from`. Errors: as MemberFile::certify. Thread rule:
/// any thread.
using Certify = std::function<Result<MemberList::Member>(std::string_view certificate, const std::string& from)>;

/// Gives `ring` the members of each newer list, and `node` what they may call, until the node stops: looks at `file`
/// every `interval` by the node's clock, on the node's pool, and takes lists from members that know newer ones; tells
/// them of its own; tells `audit` of all that. Returns what lets in newcomers that no list has yet. Thread rule: any
/// thread.
[[nodiscard]] Certify watch_members(const std::shared_ptr<NodeCore>& node, std::shared_ptr<MemberFile> file,
                                    KeyRing ring, Duration interval, AuditSink audit = {});

}  // namespace troupe::detail
