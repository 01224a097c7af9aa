// A node's audit log: peers that joined or left, what was refused to them, and changes of keys. See README.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "actors/clock.h"
#include "messages/error.h"
#include "node/audit/audit_chain.h"
#include "node/audit/audit_entry.h"
#include "node/audit/audit_file.h"

namespace troupe {

struct AuditLogOptions {
  std::filesystem::path path;
  std::string node;                                 ///< the name that lines have
  std::size_t bytes_max = AuditFile::kBytesMax;     ///< then the file becomes PATH.1
  std::function<void(std::string_view)> warn = {};  ///< called once, on the log's thread, if the disk refuses a line
  Duration tell_every = std::chrono::seconds{10};   ///< the shortest time between two heads that are told
  /// The same if only heads of peers were written since then: two nodes would send each other heads without end.
  Duration tell_heads_every = std::chrono::minutes{10};
};

/// Writes entries to a file, on a thread of its own. Thread rule: any thread may call any member.
class AuditLog {
 public:
  /// How long `close` waits for the disk.
  static constexpr Duration kCloseLimit = std::chrono::seconds{5};

  /// Opens the file, goes on behind its last line, and writes that the log is open. Errors: bad_argument, as
  /// AuditFile::open. Throws std::system_error (no thread).
  [[nodiscard]] static Result<std::shared_ptr<AuditLog>> open(AuditLogOptions options);

  /// Closes the log.
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  /// Takes an entry. Waits for no file. After `close` it only counts.
  void add(AuditEntry entry);

  using TellHead = std::function<void(std::uint64_t line, const AuditHash& hash)>;

  /// From now on calls `tell`, on the log's thread, with number and hash of the last line, once it is on the disk: at
  /// once, and when there are later ones, but not more often than every `tell_every`.
  void tell_head(TellHead tell);

  /// Writes what was added, and tells the last line. Waits for that, but not longer than `limit`.
  void tell_head_now(Duration limit = std::chrono::seconds{1});

  /// Writes what was added, says that the log is closed, and waits until the disk has it, but not longer than `limit`.
  /// Returns whether the disk has it; if not, its thread goes on without this object. A second call waits for the
  /// first.
  bool close(Duration limit = kCloseLimit);

  /// Returns the number of entries that are not in the file: the disk refused them, or the log was closed.
  [[nodiscard]] std::uint64_t lost() const;

 private:
  class Writer;  // what the log's thread uses: a disk that does not answer may keep it longer than the log

  AuditLog(AuditLogOptions options, AuditFile file);

  std::shared_ptr<Writer> writer_;
  std::mutex join_mutex_;
  std::thread thread_;  ///< guarded by join_mutex_
};

}  // namespace troupe
