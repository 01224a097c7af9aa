// The tasks of one step tell each other their public keys through the job's directory.
//
//   rank 0                                            rank r
//     0.key: its key                        ──►
//                                           ◄──         r.key: its key, and that it answers this key of rank 0
//     run: all names and keys, the seed's
//          address, the secret for each     ──►
//                                           ◄──         r.key is renamed r.done
//     removes the directory
//
// What an earlier life of the job has left is never taken for this one's. Every process draws its key when it starts,
// so a key names one life of one task. Rank 0 takes a record only if it answers the key that rank 0 has drawn, and
// another rank takes a run only if its own key is in it at its own place: neither can be in a file that was written
// before. A rank that has answered an old 0.key answers again when the new one is there.
//
// A reader of the directory learns names and addresses only: the keys in it are public, and the secret is sealed for
// each member. A writer can become a member. This user and root can write, and so can a machine that impersonates the
// file server. With proofs only this user can become a member, and anyone who can make proofs in its name.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "actors/clock.h"
#include "node/engines/exchange_records.h"
#include "node/engines/job_directory.h"
#include "node/engines/record_proof.h"
#include "node/keys/key_ring.h"
#include "node/keys/locked_bytes.h"

namespace troupe::detail {

/// What a task needs in order to take part in the exchange.
struct ExchangeRequest {
  std::filesystem::path directory;  ///< of this job step alone
  std::string job;
  std::vector<std::string> names;  ///< of all, in order of rank
  std::size_t rank = 0;            ///< this task's
  std::string host;                ///< of this task
  std::string cluster_id;          ///< rank 0 only
  /// Rank 0 only: returns the address at which others will reach it. Called once, when all are there, with the names of
  /// the other hosts.
  std::function<std::string(const std::vector<std::string>& hosts)> listen;
  ProofChoice proof = {};  ///< of the files; each task has one, or none has
};

/// What every task knows at the end.
struct ExchangedRun {
  KeyRing keys;
  LockedBytes secret;  ///< of the cluster
  std::string cluster_id;
  std::string seed;
};

/// Other tasks are missing, or have written impossible contents. The text names them.
class ExchangeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One task's part. Thread rule: one thread at a time. It never waits: step() does what can be done now.
class KeyExchange {
 public:
  /// Draws this task's key and makes the directory. Throws JobDirectoryError and ProofError.
  explicit KeyExchange(ExchangeRequest request);

  /// Returns the result when this task's part is done; nullopt: try again later. Throws ExchangeError,
  /// JobDirectoryError and ProofError for what waiting does not mend.
  [[nodiscard]] std::optional<ExchangedRun> step();

  /// Returns what the next step waits for, "nothing from ranks 1, 2 (trainer0, trainer1)", then `limits`, then why
  /// files that are there were not taken.
  [[nodiscard]] std::string awaited(std::string_view limits = {}) const;

  [[nodiscard]] const std::filesystem::path& directory() const { return directory_.path(); }

 private:
  void say_own_key();
  void answer(const std::set<std::string>& there);
  void hear(const std::set<std::string>& there);
  void publish();
  void hear_ends(const std::set<std::string>& there);
  [[nodiscard]] std::optional<RunRecord> own_run(const std::set<std::string>& there);
  [[nodiscard]] std::optional<TaskRecord> record_in(const std::string& file, std::size_t rank);
  void check(const TaskRecord& record, const std::string& file, std::size_t rank) const;
  [[nodiscard]] ExchangedRun taken(const RunRecord& run) const;

  ExchangeRequest request_;
  KeyPair keys_;
  JobDirectory directory_;
  ProvedFiles files_;
  std::optional<PublicKey> answered_;         ///< what this task's record says; of rank 0: unused
  std::map<std::size_t, TaskRecord> heard_;   ///< rank 0: records of this life, by rank
  std::set<std::size_t> silent_;              ///< ranks that the next step waits for
  std::map<std::size_t, std::string> wrong_;  ///< by rank, why its file is not taken
  std::optional<RunRecord> run_;              ///< rank 0: as published
  std::optional<LockedBytes> secret_;         ///< rank 0: as sealed
};

/// How an exchange waits.
struct ExchangeWaiting {
  std::function<TimePoint()> now;
  std::function<void(Duration)> pause;
  Duration patience{};  ///< until it gives up
};

/// Steps until the result is there; pauses between two steps grow from 10 ms to half a second. Throws as step(), and
/// ExchangeError with awaited() when the patience is over.
[[nodiscard]] ExchangedRun finish(KeyExchange& exchange, const ExchangeWaiting& waiting);

}  // namespace troupe::detail
