// The lines of an audit log, each of which holds the hash of the line before it.
//
//   {"time":"2026-03-01T09:30:00.250Z","node":"ps0","event":"refused","reason":"no member has its key",
//    "address":"10.0.0.7","count":3,"number":17,"prev":"64 hexadecimal digits"}
//
// on one line. `prev` is the BLAKE2b hash, 32 bytes, of all bytes of the former line without its newline; 64 zeros in
// the first. `number` counts lines from 1. The chain finds lines that were changed, taken out or put in another order;
// it does not find lines missing at the end, nor a file that somebody wrote anew from a line on: for that a later hash
// must be known from elsewhere, as from the logs of peers (audit_comparison.h).
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "node/audit/audit_entry.h"
#include "node/audit/audit_merge.h"

namespace troupe {

using AuditHash = std::array<std::byte, 32>;

/// Returns the hash of a line without its newline.
[[nodiscard]] AuditHash audit_hash(std::string_view line);

/// The last line of a peer's log, as a line of this log has it.
struct ToldHead {
  std::string of = {};     ///< the peer
  std::uint64_t line = 0;  ///< its number
  std::string hash = {};   ///< in hexadecimal digits
};

/// Makes the lines of one log. A plain class; one thread at a time.
class AuditChain {
 public:
  /// `node`: the name that lines have.
  explicit AuditChain(std::string node) : node_(std::move(node)) {}

  /// Goes on behind `text`, the end of a log of an earlier life: a last line that was cut off counts as a line.
  /// REQUIRES: `text` begins at the beginning of a line.
  void go_on_after(std::string_view text);

  /// Returns the next line, with its newline. Texts are escaped: no byte of them is a newline, a control character or
  /// invalid UTF-8.
  [[nodiscard]] std::string line_of(const AuditMerge::Counted& counted) const;

  /// `line` is in the file: the next one follows it.
  void written(std::string_view line);

  [[nodiscard]] std::uint64_t count() const { return count_; }   ///< of lines
  [[nodiscard]] const AuditHash& head() const { return head_; }  ///< the hash of the last line

 private:
  const std::string node_;
  std::uint64_t count_ = 0;
  AuditHash head_{};
};

/// Checks the lines of a log, in order. A plain class; one thread at a time.
class AuditCheck {
 public:
  /// Takes the next line without its newline; `whole`: it had one. Returns why the chain is broken there; empty: it is
  /// not.
  [[nodiscard]] std::string take(std::string_view line, bool whole);

  /// Returns why the log cannot end here; empty: it can.
  [[nodiscard]] std::string end() const;

  [[nodiscard]] std::uint64_t count() const { return count_; }      ///< of lines
  [[nodiscard]] std::uint64_t first() const { return first_; }      ///< the number of the first line
  [[nodiscard]] std::uint64_t number() const { return number_; }    ///< that of the last line
  [[nodiscard]] const AuditHash& head() const { return head_; }     ///< the hash of the last line
  [[nodiscard]] std::uint64_t cut_off() const { return cut_off_; }  ///< lines that a crash left unfinished
  [[nodiscard]] const std::string& node() const { return node_; }   ///< whose log it is; empty: no line has said so

  /// What the first line says of the line before it: its hash, in hexadecimal digits.
  [[nodiscard]] const std::string& before_first() const { return before_first_; }

  /// What the last line has of a peer's log; nullopt: nothing.
  [[nodiscard]] const std::optional<ToldHead>& told() const { return told_; }

 private:
  std::uint64_t count_ = 0;
  std::uint64_t first_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t cut_off_ = 0;
  AuditHash head_{};
  std::string node_;
  std::string before_first_;
  std::optional<ToldHead> told_;
  bool last_is_cut_off_ = false;
};

}  // namespace troupe
