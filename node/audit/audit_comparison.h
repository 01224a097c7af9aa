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
  /// The log of `node` has that line. REQUIRES: the lines of a node are given in order, each once.
  void has(const std::string& node, std::uint64_t number, const AuditHash& hash);

  /// The log of `witness` has that head, at `place`: "b.audit:31".
  void told(const std::string& witness, const ToldHead& head, std::string place);

  /// What the other logs say of one node's.
  struct Verdict {
    std::size_t agree = 0;            ///< heads of lines that are as they were told
    std::uint64_t last_agreed = 0;    ///< the last one of these lines
    std::set<std::string> witnesses;  ///< the nodes whose logs have these
    std::size_t not_given = 0;        ///< heads of lines before the first that was given
    std::vector<std::string> broken;  ///< "PLACE: why", by line
  };

  /// REQUIRES: all lines and heads were given.
  [[nodiscard]] Verdict verdict_on(const std::string& node) const;

  /// Returns the nodes of which there are heads, but no lines.
  [[nodiscard]] std::vector<std::string> not_given() const;

 private:
  struct Log {
    std::uint64_t first = 0;  ///< the number of the first line
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
