#include "node/audit/audit_comparison.h"

#include <fmt/format.h>

#include <utility>

#include "node/keys/word_lines.h"

namespace troupe {

void AuditComparison::has(const std::string& node, std::uint64_t number, const AuditHash& hash,
                          const std::string& before) {
  Log& log = logs_[node];
  if (log.hashes.empty()) {
    log.first = number;
    log.before = before;
  }
  log.hashes.push_back(hash);
}

void AuditComparison::told(const std::string& witness, const ToldHead& head, std::string place) {
  if (witness != head.of) told_[head.of].emplace(head.line, Told{witness, head.hash, std::move(place)});
}

AuditComparison::Verdict AuditComparison::verdict_on(const std::string& node) const {
  Verdict verdict;
  const auto given = logs_.find(node);
  const auto heads = told_.find(node);
  if (given == logs_.end() || heads == told_.end()) return verdict;
  const auto& [first, before, hashes] = given->second;
  for (const auto& [line, told] : heads->second) {
    if (line < first && line != first - 1) {
      verdict.not_given = line;
    } else if (line >= first && line - first >= hashes.size()) {
      verdict.broken.push_back(fmt::format("{}: {} was told of line {} of {}, whose log ends with line {}", told.place,
                                           told.witness, line, node, first + hashes.size() - 1));
    } else if (told.hash != (line < first ? before : detail::hex_of(hashes[line - first]))) {
      verdict.broken.push_back(
          fmt::format("{}: line {} of {} is not the one that {} was told of: it or lines before it were changed, or "
                      "another log was begun in its place; or what {} says is false",
                      told.place, line, node, told.witness, told.witness));
    } else {
      verdict.agreed = line;
      verdict.witnesses.insert(told.witness);
    }
  }
  return verdict;
}

std::vector<std::string> AuditComparison::not_given() const {
  std::vector<std::string> nodes;
  for (const auto& [node, heads] : told_) {
    if (!logs_.contains(node)) nodes.push_back(node);
  }
  return nodes;
}

}  // namespace troupe
