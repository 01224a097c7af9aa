// Proofs by MUNGE, the service by which Slurm's own machines know their users: https://dun.github.io/munge.
#pragma once

#include <string>

#include "node/engines/engine_place.h"
#include "node/engines/record_proof.h"

namespace troupe::detail {

/// Which MUNGE a task uses: "auto" under Slurm that of the machine, if it has a socket; "off" none; else the path of a
/// socket.
inline constexpr const char* kMungeDefault = "auto";

/// A credential has the user's id, which the machine's munged authenticates with the key that all its machines share,
/// and a hash of the text. Any user can get credentials, but for its own id only. A credential keeps nothing secret.
///
/// libmunge.so.2 is loaded when it is first needed: machines without it need not have it. A munged that does not answer
/// fails a call with ProofError after 10 s, one that is gone after 2 s. Throws ProofError if the MUNGE that `wanted`
/// names does not work; a machine that has one never passes for one without. `machines_socket`: "" is the usual one.
[[nodiscard]] ProofChoice munge_proof(const std::string& wanted, Engine engine,
                                      const std::string& machines_socket = "");

}  // namespace troupe::detail
