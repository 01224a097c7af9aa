// Changes of the list of members while a node runs: from a file, and from other members.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "actors/calls/listed_grants.h"
#include "actors/clock.h"
#include "actors/core/node_core.h"
#include "messages/error.h"
#include "node/audit/audit_entry.h"
#include "node/keys/key_ring.h"
#include "node/keys/member_file.h"
#include "node/keys/member_list.h"

namespace troupe::detail {

/// Returns what the list of members grants them; empty if it restricts none.
[[nodiscard]] ListedGrants grants_of(const MemberFile::Members& members);

/// Lets in the member of a certificate that came from the address `from`. Errors: as MemberFile::certify. Thread rule:
/// any thread.
using Certify = std::function<Result<MemberList::Member>(std::string_view certificate, const std::string& from)>;

/// Until the node stops, gives `ring` the members of each newer list, and `node` their grants. Looks at `file` every
/// `interval` by the node's clock, on the node's pool, takes newer lists from other members, and tells them of its own.
/// Reports all of that to `audit`. Returns the function that lets in newcomers whom no list has yet. Thread rule: any
/// thread.
[[nodiscard]] Certify watch_members(const std::shared_ptr<NodeCore>& node, std::shared_ptr<MemberFile> file,
                                    KeyRing ring, Duration interval, AuditSink audit = {});

}  // namespace troupe::detail
