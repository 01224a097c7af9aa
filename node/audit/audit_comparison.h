// What the audit logs of several nodes say of each other: whether lines that peers were told of are still the same.
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
  /// The log of `node` has that line, which has `before` as the hash of the one before it. REQUIRES: the lines of a
  /// node are given in order, each once.
  void has(const std::string& node, std::uint64_t number, const AuditHash& hash, const std::string& before);

  /// The log of `witness` has that head, at `place`: "b.audit:31". What a log says of itself does not count.
  void told(const std::string& witness, const ToldHead& head, std::string place);

  /// What the other logs say of one node's.
  struct Verdict {
    std::uint64_t agreed = 0;         ///< the last line that is as it was told; 0: none
    std::set<std::string> witnesses;  ///< the nodes whose logs have such lines
    std::uint64_t not_given = 0;  ///< the last line that was told, and is too early to be among those given; 0: none
    std::vector<std::string> broken;  ///< "PLACE: why", by line
  };

  /// REQUIRES: all lines and heads were given.
  [[nodiscard]] Verdict verdict_on(const std::string& node) const;

  /// Returns the nodes of which there are heads, but no lines.
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
