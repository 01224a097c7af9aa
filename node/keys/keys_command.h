// `troupe keys`: makes and checks the keys of a cluster that is not started by one command.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

enum class KeysAction : std::uint8_t { init_cluster, new_node, rotate, grant, revoke, show_public, verify };

struct KeysCommandOptions {
  KeysAction action = KeysAction::verify;
  std::string path = "keys";              ///< the directory; show_public and verify take a node's key file, too
  std::vector<std::string> names;         ///< of nodes
  std::vector<std::string> names_wanted;  ///< new_node: of nodes that get a key unless they have one
  std::string members;                    ///< verify a node's key file: the list; empty: beside the file
  std::string calls;                      ///< of new members, and of grant: "eval,stats.*"; "-": none; "*": all
  std::string owns;                       ///< the same: "-": no values on other members; "*": as many as those allow
  std::string reads;                      ///< the same: "-": no copies of other members' values; "*": of all
  std::string until;                      ///< the last day of new keys: "2027-01-31"; empty: no end
};

/// Does it and prints what was done, to standard output. Returns the exit status: 1 if `verify` finds something wrong.
/// Throws KeysError.
int run_keys_command(const KeysCommandOptions& options);

}  // namespace troupe
