// A node's audit log: who came, who was refused, which keys count. See README.md.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "messages/error.h"
#include "node/audit/audit_chain.h"
#include "node/audit/audit_entry.h"
#include "node/audit/audit_file.h"
#include "node/audit/audit_merge.h"

namespace troupe {

struct AuditLogOptions {
  std::filesystem::path path;
  std::string node;                                 ///< the name that lines have
  std::size_t bytes_max = AuditFile::kBytesMax;     ///< then the file becomes PATH.1
  std::function<void(std::string_view)> warn = {};  ///< called once, on the log's thread, if the disk refuses a line
};

/// Writes entries to a file, on a thread of its own. Thread rule: any thread may call any member.
class AuditLog {
 public:
  /// Opens the file, goes on behind its last line, and writes that the log is open. Errors: bad_argument, as
  /// AuditFile::open. Throws std::system_error (no thread).
  [[nodiscard]] static Result<std::shared_ptr<AuditLog>> open(AuditLogOptions options);

  /// Closes the log.
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  /// Takes an entry. Waits for no file. After `close` it only counts.
  void add(AuditEntry entry);

  /// Returns once all that was added before is in the file, or is counted as lost.
  void flush();

  /// Writes what was added, says that the log is closed, and waits for the disk. A second call waits for the first.
  void close();

  /// Returns the number of entries that are not in the file: the disk refused them, or the log was closed.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  AuditLog(AuditLogOptions options, AuditFile file);
  void run();
  void write(const AuditMerge::Counted& counted);
  [[nodiscard]] bool put(const AuditMerge::Counted& counted);

  const AuditLogOptions options_;
  AuditFile file_;            ///< the log's thread
  AuditChain chain_;          ///< the log's thread
  std::uint64_t unsaid_ = 0;  ///< lost, and no line says so yet; the log's thread
  bool warned_ = false;       ///< the log's thread
  std::atomic<std::uint64_t> lost_ = 0;

  std::mutex mutex_;                 ///< never held while a file is used
  std::condition_variable changed_;  ///< there is work
  std::condition_variable flushed_;
  AuditMerge merge_;                 ///< guarded by mutex_
  std::uint64_t flushes_asked_ = 0;  ///< guarded by mutex_
  std::uint64_t flushes_done_ = 0;   ///< guarded by mutex_
  bool closing_ = false;             ///< guarded by mutex_

  std::mutex join_mutex_;
  std::thread thread_;  ///< guarded by join_mutex_; last: it uses all of the above
};

}  // namespace troupe
