// What the tasks of a step write into the job's directory: lines "word value", in this order, nothing else.
//
//   RANK.key, from each task         run, from rank 0 when it knows all
//     troupe-task 1                    troupe-run 1
//     job slurm-mycluster-1234.0       job slurm-mycluster-1234.0
//     rank 2                           cluster 0123456789abcdef
//     name trainer1                    seed tcp://192.0.2.7:40123
//     host node17                      member ps <key> <sealed secret>
//     key <64 hexadecimal digits>      member trainer0 <key> <sealed secret>
//     answers <the key of rank 0>      member trainer1 <key> <sealed secret>
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/engines/sealed_secret.h"
#include "node/keys/key_pair.h"

namespace troupe::detail {

/// One task, said by itself.
struct TaskRecord {
  static constexpr std::size_t kBytesMax = 1024;

  std::string job;
  std::size_t rank = 0;
  std::string name;
  std::string host;  ///< as the system calls it
  PublicKey key;
  std::optional<PublicKey> answers;  ///< the key that rank 0 has said in this life; nullopt in the record of rank 0
  friend bool operator==(const TaskRecord&, const TaskRecord&) = default;
};

/// All tasks, said by rank 0.
struct RunRecord {
  struct Member {
    std::string name;
    PublicKey key;
    SealedSecret secret;  ///< for this member, by rank 0
    friend bool operator==(const Member&, const Member&) = default;
  };

  std::string job;
  std::string cluster_id;
  std::string seed;             ///< where others reach rank 0
  std::vector<Member> members;  ///< by rank
  friend bool operator==(const RunRecord&, const RunRecord&) = default;

  /// Returns the most bytes of a record of so many members.
  [[nodiscard]] static constexpr std::size_t bytes_max(std::size_t members) { return 1024 + members * 320; }
};

[[nodiscard]] std::string text_of(const TaskRecord& record);
[[nodiscard]] std::string text_of(const RunRecord& record);

/// Reads what another task may have written. Throws std::invalid_argument, naming the first word that is not right.
[[nodiscard]] TaskRecord parse_task(std::string_view text);

/// Reads as parse_task. A record of more than `members_max` members is not right.
[[nodiscard]] RunRecord parse_run(std::string_view text, std::size_t members_max);

}  // namespace troupe::detail
