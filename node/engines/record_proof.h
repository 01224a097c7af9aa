// Proves which user wrote a file of an exchange: the proof precedes the text, if the tasks can make proofs.
//
//   proof <one word>
//   troupe-task 1
//   ...
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace troupe::detail {

/// Proofs cannot be made or checked. The text says why.
class ProofError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Thread rule: one thread at a time.
class RecordProof {
 public:
  static constexpr std::size_t kBytesMax = 2048;

  virtual ~RecordProof() = default;

  /// Returns a word of at most kBytesMax bytes that proves that a process of this user wrote `text`. Throws ProofError.
  [[nodiscard]] virtual std::string of(std::string_view text) = 0;

  /// Throws std::invalid_argument, with the reason, unless `proof` proves that of `text`; ProofError if it cannot be
  /// checked.
  virtual void check(const std::string& proof, std::string_view text) = 0;
};

/// A proof, or why there is none.
struct ProofChoice {
  std::shared_ptr<RecordProof> proof;
  std::string why_none = "it was not asked for";
};

/// The files of one task's exchange. A task with proofs rejects files without a proof; a task without proofs rejects
/// files with one. Thread rule: one thread at a time.
class ProvedFiles {
 public:
  /// Bytes of a file beside those of its text.
  static constexpr std::size_t kBytesMax = RecordProof::kBytesMax + 16;

  explicit ProvedFiles(ProofChoice choice) : choice_(std::move(choice)) {}

  /// Returns the content of a file with that text. Throws ProofError.
  [[nodiscard]] std::string content_of(std::string_view text);

  /// Returns the text of the file `name`. Throws std::invalid_argument, with the reason, if its proof is missing or
  /// wrong, and ProofError. Does not check a content again that it has accepted.
  [[nodiscard]] std::string text_in(const std::string& name, std::string content);

 private:
  ProofChoice choice_;
  std::map<std::string, std::string> proved_;  ///< content by name
};

}  // namespace troupe::detail
