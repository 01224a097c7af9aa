#include "node/audit/audit_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "node/audit/audit_chain.h"
#include "node/audit/audit_merge.h"

namespace troupe {

/// Thread rule: any thread may call the public members, except `run`.
class AuditLog::Writer {
 public:
  /// Writes that the log is open.
  Writer(AuditLogOptions options, AuditFile file);

  void add(AuditEntry entry);
  void tell_head(TellHead tell);
  void tell_head_now(Duration limit);
  void close();

  /// Waits until `run` is over. Returns false if it is not within `limit`: then `warn` is not called any more.
  [[nodiscard]] bool wait_for_end(Duration limit);

  [[nodiscard]] std::uint64_t lost() const { return lost_; }

  /// The log's thread.
  void run();

 private:
  [[nodiscard]] std::optional<TimePoint> next_due() const;
  void tell(const TellHead& tell, TimePoint now, bool at_once);
  void write(const AuditMerge::Counted& counted);
  [[nodiscard]] bool put(const AuditMerge::Counted& counted);
  void warn(std::string_view why);

  const AuditLogOptions options_;
  AuditFile file_;            // the log's thread
  AuditChain chain_;          // the log's thread
  std::uint64_t unsaid_ = 0;  // lost, and no line says so yet; the log's thread
  bool warned_ = false;       // the log's thread
  std::uint64_t told_ = 0;    // the last line that was told; the log's thread
  bool has_news_ = true;      // a line behind it is not the head of a peer; the log's thread
  TimePoint told_at_;         // the log's thread
  std::atomic<std::uint64_t> lost_ = 0;

  std::mutex mutex_;                 // never held while a file is used
  std::condition_variable changed_;  // there is work
  std::condition_variable ended_;
  std::condition_variable is_told_;
  AuditMerge merge_;                      // guarded by mutex_
  std::shared_ptr<const TellHead> tell_;  // guarded by mutex_; a pointer, so that a copy needs no memory
  std::uint64_t tells_now_ = 0;           // how often the head was to be told at once; guarded by mutex_
  std::uint64_t told_now_ = 0;            // how many of these are done; guarded by mutex_
  bool closing_ = false;                  // guarded by mutex_
  bool has_ended_ = false;                // guarded by mutex_
  bool is_left_ = false;                  // the log is gone; guarded by mutex_
};

Result<std::shared_ptr<AuditLog>> AuditLog::open(AuditLogOptions options) {
  auto file = AuditFile::open(options.path, options.bytes_max);
  if (!file) return file.error();
  return std::shared_ptr<AuditLog>(new AuditLog(std::move(options), std::move(file).value()));
}

AuditLog::AuditLog(AuditLogOptions options, AuditFile file)
    : writer_(std::make_shared<Writer>(std::move(options), std::move(file))),
      thread_([writer = writer_] { writer->run(); }) {}

AuditLog::~AuditLog() { close(); }

void AuditLog::add(AuditEntry entry) { writer_->add(std::move(entry)); }

void AuditLog::tell_head(TellHead tell) { writer_->tell_head(std::move(tell)); }

void AuditLog::tell_head_now(Duration limit) { writer_->tell_head_now(limit); }

bool AuditLog::close(Duration limit) {
  writer_->close();
  const std::lock_guard lock(join_mutex_);
  const bool is_written = writer_->wait_for_end(limit);
  if (thread_.joinable()) is_written ? thread_.join() : thread_.detach();
  return is_written;
}

std::uint64_t AuditLog::lost() const { return writer_->lost(); }

AuditLog::Writer::Writer(AuditLogOptions options, AuditFile file)
    : options_(std::move(options)), file_(std::move(file)), chain_(options_.node) {
  chain_.go_on_after(file_.tail());
  write({{.event = AuditEvent::opened}, 1, std::chrono::system_clock::now()});
}

void AuditLog::Writer::add(AuditEntry entry) {
  bool is_ready = false;
  {
    const std::lock_guard lock(mutex_);
    if (closing_) {
      ++lost_;
      return;
    }
    merge_.add(std::move(entry), std::chrono::steady_clock::now(), std::chrono::system_clock::now());
    is_ready = merge_.is_ready();
  }
  if (is_ready) changed_.notify_one();
}

void AuditLog::Writer::tell_head(TellHead tell) {
  auto teller = std::make_shared<const TellHead>(std::move(tell));
  {
    const std::lock_guard lock(mutex_);
    tell_ = std::move(teller);
    ++tells_now_;
  }
  changed_.notify_one();
}

void AuditLog::Writer::tell_head_now(Duration limit) {
  std::unique_lock lock(mutex_);
  const std::uint64_t own = ++tells_now_;
  changed_.notify_one();
  is_told_.wait_for(lock, limit, [this, own] { return told_now_ >= own || has_ended_; });
}

void AuditLog::Writer::close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
}

bool AuditLog::Writer::wait_for_end(Duration limit) {
  std::unique_lock lock(mutex_);
  if (!is_left_) is_left_ = !ended_.wait_for(lock, limit, [this] { return has_ended_; });
  return has_ended_;
}

/// Returns when there is work without another entry.
std::optional<TimePoint> AuditLog::Writer::next_due() const {
  std::optional<TimePoint> due = merge_.next_due();
  if (!tell_ || told_ == chain_.count()) return due;
  const TimePoint tell_at = told_at_ + (has_news_ ? options_.tell_every : options_.tell_heads_every);
  return due ? std::min(*due, tell_at) : tell_at;
}

void AuditLog::Writer::tell(const TellHead& tell, TimePoint now, bool at_once) {
  if (!tell || told_ == chain_.count()) return;
  if (!at_once && now < told_at_ + (has_news_ ? options_.tell_every : options_.tell_heads_every)) return;
  told_at_ = now;  // also if there is no memory now
  file_.sync();    // a machine that fails does not lose what others know of
  try {
    tell(chain_.count(), chain_.head());
  } catch (const std::bad_alloc&) {
    return;
  }
  told_ = chain_.count();
  has_news_ = false;
}

void AuditLog::Writer::run() {
  for (bool is_last = false; !is_last;) {
    std::vector<AuditMerge::Counted> counted;
    std::shared_ptr<const TellHead> teller;
    std::uint64_t dropped = 0;
    std::uint64_t tells_now = 0;
    bool at_once = false;
    {
      std::unique_lock lock(mutex_);
      const auto has_work = [this] { return closing_ || merge_.is_ready() || told_now_ < tells_now_; };
      if (const auto due = next_due()) {
        changed_.wait_until(lock, *due, has_work);
      } else {
        changed_.wait(lock, has_work);
      }
      is_last = closing_;
      tells_now = tells_now_;
      at_once = told_now_ < tells_now;
      try {
        counted = is_last || at_once ? merge_.take_all() : merge_.take(std::chrono::steady_clock::now());
      } catch (const std::bad_alloc&) {
        dropped = merge_.drop_all();
      }
      teller = tell_;
    }
    unsaid_ += dropped;
    lost_ += dropped;
    for (const AuditMerge::Counted& each : counted) write(each);
    if (teller) tell(*teller, std::chrono::steady_clock::now(), at_once);
    if (!at_once) continue;
    const std::lock_guard lock(mutex_);
    told_now_ = tells_now;
    is_told_.notify_all();
  }
  write({{.event = AuditEvent::closed}, 1, std::chrono::system_clock::now()});
  file_.sync();
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  ended_.notify_all();
  is_told_.notify_all();
}

void AuditLog::Writer::write(const AuditMerge::Counted& counted) {
  if (unsaid_ > 0 && put({{.event = AuditEvent::lost}, unsaid_, counted.time})) unsaid_ = 0;
  if (unsaid_ == 0 && put(counted)) return;
  unsaid_ += counted.count;
  lost_ += counted.count;
}

bool AuditLog::Writer::put(const AuditMerge::Counted& counted) try {
  const std::string line = chain_.line_of(counted);
  const auto appended = file_.append(line);
  if (appended) {
    chain_.written(line);
    has_news_ |= counted.entry.event != AuditEvent::head;
    return true;
  }
  if (!std::exchange(warned_, true)) warn(appended.error().message);
  return false;
} catch (const std::bad_alloc&) {
  return false;
}

void AuditLog::Writer::warn(std::string_view why) {
  if (!options_.warn) return;
  {
    const std::lock_guard lock(mutex_);
    if (is_left_) return;
  }
  options_.warn(fmt::format("the audit log has gaps: {}", why));
}

}  // namespace troupe
