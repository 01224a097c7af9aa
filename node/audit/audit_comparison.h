// Compares the audit logs of several nodes: whether the lines that other nodes have recorded as heads are unchanged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "node/audit/audit_chain.h"

namespace troupe {

/// A plain class; one thread at a time.
class AuditComparison {
 public:
  /// The log of `node` has this line; `before` is the hash that it has for the line before it. REQUIRES: the lines of a
  /// node are given in order, each once.
  void has(const std::string& node, std::uint64_t number, const AuditHash& hash, const std::string& before);

  /// The log of `witness` recorded `head` at `place`: "b.audit:31". A head of the witness itself does not count.
  void told(const std::string& witness, const ToldHead& head, std::string place);

  /// The comparison of one node's log with the heads in the other logs.
  struct Verdict {
    std::uint64_t agreed = 0;         ///< the last line that equals a recorded head; 0: none
    std::set<std::string> witnesses;  ///< the nodes that recorded such heads
    std::uint64_t not_given = 0;      ///< the last recorded line that is before all given lines; 0: none
    std::vector<std::string> broken;  ///< "PLACE: why", by line
  };

  /// REQUIRES: all lines and heads were given.
  [[nodiscard]] Verdict verdict_on(const std::string& node) const;

  /// Returns the nodes of which other logs recorded heads although no line of their log was given.
  [[nodiscard]] std::vector<std::string> not_given() const;

 private:
  struct Log {
    std::uint64_t first = 0;  ///< the number of the first line
    std::string before;       ///< the hash of the line before that
    std::vector<AuditHash> hashes;
  };
  struct Told {
    std::string witness;
    std::string hash;
    std::string place;
  };
  std::map<std::string, Log> logs_;
  std::map<std::string, std::multimap<std::uint64_t, Told>> told_;  ///< by node and line
};

}  // namespace troupe
